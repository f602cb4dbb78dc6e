#pragma once

#include "sotto/transports/transport_ref.hpp"

#include <exception>

#include "sotto/core/config.hpp"

namespace sotto {

SOTTO_DECL request transport_ref::send(int to, tag label, byte_view out) const {
    return calls_->send(over_, to, label, out);
}

SOTTO_DECL request transport_ref::receive(int from, tag label, mutable_byte_view in) const {
    return calls_->receive(over_, from, label, in);
}

SOTTO_DECL void transport_ref::fail(std::string_view cause, errc kind) const noexcept {
    calls_->fail(over_, cause, kind);
}

SOTTO_DECL void transport_ref::blame(int rank, const std::string& cause, errc code) const {
    calls_->blame(over_, rank, cause, code);
    std::terminate();  // unreachable: it throws
}

SOTTO_DECL std::optional<rank_change> transport_ref::next_change() const {
    return calls_->next_change ? calls_->next_change(over_) : std::nullopt;
}

SOTTO_DECL detail::opened_ballot transport_ref::open_ballot(std::span<const int> members,
                                                            std::uint32_t label) const {
    return calls_->open_ballot ? calls_->open_ballot(over_, members, label)
                               : detail::opened_ballot();
}

SOTTO_DECL bool transport_ref::agree(detail::opened_ballot among, bool vote) const {
    return calls_->agree_among(over_, among, vote);
}

SOTTO_DECL detail::native_collective transport_ref::native_barrier() const {
    return calls_->native_barrier ? calls_->native_barrier(over_) : detail::native_collective();
}

SOTTO_DECL detail::native_collective transport_ref::native_broadcast(std::int64_t bytes_max,
                                                                     int root) const {
    return calls_->native_broadcast ? calls_->native_broadcast(over_, bytes_max, root)
                                    : detail::native_collective();
}

SOTTO_DECL detail::native_collective transport_ref::native_all_gather(
    std::int64_t bytes_max) const {
    return calls_->native_all_gather ? calls_->native_all_gather(over_, bytes_max)
                                     : detail::native_collective();
}

}  // namespace sotto
