#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sotto/core/bytes.hpp"
#include "sotto/core/clock.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/transports/detail/messaging/ballot_transport.hpp"
#include "sotto/transports/detail/native_collectives.hpp"
#include "sotto/transports/detail/transport_calls.hpp"
#include "sotto/transports/tolerant_transport.hpp"
#include "sotto/transports/transport.hpp"

namespace sotto {

/// Refers to a transport of any kind, so code over it is compiled once and not for each kind. It is
/// itself a transport, and its members call those of the referenced one. Optional members of
/// transports are checked at run time: is_tolerant(), open_ballot(), native_barrier() and so on.
///   memory  two pointers; the transport must outlive it
///   cost    one indirect call a member
class transport_ref {
public:
    /// Refers to this transport.
    template <transport T>
        requires(!std::same_as<T, transport_ref>)
    transport_ref(T& over)
    noexcept : over_(&over), calls_(&detail::transport_calls_of<T>) {}

    int rank() const noexcept { return calls_->rank(over_); }
    int size() const noexcept { return calls_->size(over_); }
    request send(int to, tag label, byte_view out) const;
    request receive(int from, tag label, mutable_byte_view in) const;
    std::optional<completion> poll(request r) const { return calls_->poll(over_, r); }
    completion wait(request r) const { return calls_->wait(over_, r); }
    std::uint64_t activity() const { return calls_->activity(over_); }
    void await(std::uint64_t seen) const { calls_->await(over_, seen); }
    bool agree(bool vote) const { return calls_->agree(over_, vote); }
    void withdraw() const noexcept { calls_->withdraw(over_); }
    void fail(std::string_view cause, errc kind = errc::peer_failed) const noexcept;
    [[noreturn]] void blame(int rank, const std::string& cause, errc code) const;
    void at(peer_failure::job_phase where) const { calls_->at(over_, where); }
    void reserve(std::int64_t count) const { calls_->reserve(over_, count); }
    time_point now() const { return calls_->now(over_); }
    void charge(work amount) const { calls_->charge(over_, amount); }
    traffic counters() const { return calls_->counters(over_); }
    std::string simulated_network() const { return calls_->simulated_network(over_); }

    /// True if it is a tolerant_transport.
    bool is_tolerant() const noexcept { return calls_->tolerate != nullptr; }
    /// Requires is_tolerant().
    void tolerate() const { calls_->tolerate(over_); }
    /// Returns nothing on a transport that is not tolerant.
    std::optional<rank_change> next_change() const;

    /// Opens a ballot: see ballot_transport. Empty if the transport is none.
    detail::opened_ballot open_ballot(std::span<const int> members, std::uint32_t label) const;
    /// Requires a ballot that this transport has opened.
    bool agree(detail::opened_ballot among, bool vote) const;

    /// The transport's own barrier; empty if it has none.
    detail::native_collective native_barrier() const;
    /// Its own broadcast of at most `bytes_max` bytes; empty if it has none.
    detail::native_collective native_broadcast(std::int64_t bytes_max, int root) const;
    /// Its own all-gather of blocks of at most `bytes_max` bytes; empty if it has none.
    detail::native_collective native_all_gather(std::int64_t bytes_max) const;

private:
    friend class group;

    void* over_;
    const detail::transport_calls* calls_;
};

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/transport_ref.ipp"
#endif
