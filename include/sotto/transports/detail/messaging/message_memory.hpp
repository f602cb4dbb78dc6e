#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

namespace sotto::detail::net {

/// Memory for messages that wait for their receive. Block sizes are powers of two. Blocks are kept
/// for the next message of their size and never initialised.
///   cost    at most twice the messages that were kept at once, and 8 MiB
class message_memory {
public:
    struct block {
        std::unique_ptr<std::byte[]> bytes{};
        std::size_t room = 0;
    };

    block take(std::size_t size);

    void give_back(block of) noexcept;

private:
    static constexpr std::size_t smallest = 256, kept_each = 256, kept_max = std::size_t{8} << 20;

    std::vector<std::unique_ptr<std::byte[]>>& of_size(std::size_t room) noexcept;

    std::array<std::vector<std::unique_ptr<std::byte[]>>, 64> kept_;
    std::size_t kept_bytes_ = 0;
};

}  // namespace sotto::detail::net

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/detail/messaging/message_memory.ipp"
#endif
