#pragma once

#include "sotto/transports/detail/messaging/message_memory.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "sotto/core/config.hpp"

namespace sotto::detail::net {

SOTTO_DECL message_memory::block message_memory::take(std::size_t size) {
    if (size == 0) return {};
    const std::size_t room = std::bit_ceil((std::max)(size, smallest));
    auto& kept = of_size(room);
    if (kept.empty()) {
        kept.reserve(kept_each);  // so that give_back never fails
        return {std::unique_ptr<std::byte[]>(new std::byte[room]), room};
    }
    block taken{std::move(kept.back()), room};
    kept.pop_back();
    kept_bytes_ -= room;
    return taken;
}

SOTTO_DECL void message_memory::give_back(block of) noexcept {
    if (of.room == 0 || kept_bytes_ + of.room > kept_max) return;
    auto& kept = of_size(of.room);
    if (kept.size() == kept.capacity()) return;
    kept_bytes_ += of.room;
    kept.push_back(std::move(of.bytes));
}

SOTTO_DECL std::vector<std::unique_ptr<std::byte[]>>& message_memory::of_size(
    std::size_t room) noexcept {
    return kept_[static_cast<std::size_t>(std::countr_zero(room))];
}

}  // namespace sotto::detail::net
