#pragma once

#include "sotto/transports/detail/messaging/control_stream.hpp"

#include "sotto/core/config.hpp"

namespace sotto::detail::net {

SOTTO_DECL void control_stream::send(wire::frame_header header, byte_view payload) {
    header.epoch = epoch_;
    header.sequence = sent_++;
    header.size = payload.size();
    header.payload_digest = wire::frame_digest(payload, seed_out_);
    const std::size_t at = output_.size();
    output_.resize(at + wire::frame_header_bytes);
    wire::write_frame_header(header, seed_out_, output_.data() + at);
    output_.insert(output_.end(), payload.begin(), payload.end());
}

SOTTO_DECL void control_stream::written(std::size_t count) {
    output_.erase(output_.begin(), output_.begin() + static_cast<std::ptrdiff_t>(count));
}

}  // namespace sotto::detail::net
