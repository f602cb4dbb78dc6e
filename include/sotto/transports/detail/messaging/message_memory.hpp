#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace sotto::detail::net {

/// Memory for messages that wait for their receive: of sizes that are powers of two, kept for the
/// next message of its size, never filled.
///   cost    at most twice the messages that were kept at once, and 8 MiB
class message_memory {
public:
    struct block {
        std::unique_ptr<std::byte[]> bytes{};
        std::size_t room = 0;
    };

    block take(std::size_t size) {
        if (size == 0) return {};
        const std::size_t room = std::bit_ceil((std::max)(size, smallest));
        auto& kept = of_size(room);
        if (kept.empty()) {
            kept.reserve(kept_each);  // so that giving back never fails
            return {std::unique_ptr<std::byte[]>(new std::byte[room]), room};
        }
        block taken{std::move(kept.back()), room};
        kept.pop_back();
        kept_bytes_ -= room;
        return taken;
    }

    void give_back(block of) noexcept {
        if (of.room == 0 || kept_bytes_ + of.room > kept_max) return;
        auto& kept = of_size(of.room);
        if (kept.size() == kept.capacity()) return;
        kept_bytes_ += of.room;
        kept.push_back(std::move(of.bytes));
    }

private:
    static constexpr std::size_t smallest = 256, kept_each = 256, kept_max = std::size_t{8} << 20;

    std::vector<std::unique_ptr<std::byte[]>>& of_size(std::size_t room) noexcept {
        return kept_[static_cast<std::size_t>(std::countr_zero(room))];
    }

    std::array<std::vector<std::unique_ptr<std::byte[]>>, 64> kept_;
    std::size_t kept_bytes_ = 0;
};

}  // namespace sotto::detail::net
