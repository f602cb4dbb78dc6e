#pragma once

#include "sotto/transports/detail/packets/packet_ends.hpp"

#include <algorithm>

#include "sotto/core/config.hpp"

namespace sotto::detail::net {

SOTTO_DECL mutable_byte_view link_end::room(std::size_t size) const noexcept {
    const auto [wanted, behind] = link->input();
    if (size <= wanted.size()) return wanted.first(size);
    return wanted.empty() && size <= behind.size() ? behind.first(size) : mutable_byte_view();
}

SOTTO_DECL std::optional<fault> link_end::take(byte_view content) const {
    while (!content.empty()) {
        std::size_t count = 0;
        for (const mutable_byte_view room : link->input()) {
            const std::size_t part = (std::min)(room.size(), content.size() - count);
            std::copy_n(content.data() + count, part, room.data());
            count += part;
        }
        if (const auto why = link->received(count)) return why;
        content = content.subspan(count);
    }
    return std::nullopt;
}

SOTTO_DECL std::optional<fault> membership_end::take(byte_view content) const {
    members->received(peer, content, now);
    return std::nullopt;  // it reports a failure of the peer itself
}

}  // namespace sotto::detail::net
