#pragma once

#include "sotto/transports/detail/packets/packet_stream.hpp"

#include "sotto/core/config.hpp"

namespace sotto::detail::net {

SOTTO_DECL std::byte* packet_buffers::take() {
    if (free_.empty()) {
        free_.reserve(all_.size() + 1);  // so that give_back never fails
        free_.push_back(all_.emplace_back(std::make_unique<std::byte[]>(bytes_each)).get());
    }
    std::byte* const taken = free_.back();
    free_.pop_back();
    return taken;
}

}  // namespace sotto::detail::net
