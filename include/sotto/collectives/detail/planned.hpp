#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "sotto/collectives/detail/flight.hpp"
#include "sotto/collectives/detail/plan.hpp"
#include "sotto/core/bytes.hpp"
#include "sotto/core/size_only.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/kernels/detail/simd/uninitialised.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"
#include "sotto/wire/value_format.hpp"

namespace sotto::detail::collectives {

/// Carries out a plan on values in place, without ever blocking.
///
/// Values travel in segments, and a segment goes on to the next rank as soon as it is there: while
/// one is added up the next one is under way, and what is added is still in the cache. Neither
/// segments nor the order in which messages arrive change the order of sums; that is the plan's
/// alone.
///   wire    a message for each segment: its values in the format, little endian, no header; empty
///           ones are not sent
///   cost    scratch of 4 segments of floats if the plan adds, and 4 of halves if the format is
///           one; the values pass through memory once when they are sent and once when they arrive
///   work    charges 12 bytes of memory a value that is added. Values `size_only` are neither
///           read nor written
///   errors  start throws invalid_option: more values than were bound; std::logic_error: started
///           before it was complete. advance throws mismatch: another rank has another number of
///           values; and what the transport does
template <plan Plan, class Value = float>
class planned {
    static_assert(std::is_same_v<Value, float> || !Plan::adds, "planned: only floats are added");
    static constexpr bool floats = std::is_same_v<Value, float>;

public:
    // 256 KiB of floats: several fit into a second-level cache, one fills the buffers of a socket.
    static constexpr std::int64_t default_segment = 65536;  // values of a segment

    /// size_max, format and segment are the same on all ranks. Only floats have other formats.
    planned(transport_ref through, Plan what, std::int64_t size_max,
            wire::value_format format = wire::value_format::fp32,
            std::int64_t segment = default_segment);

    /// Values that one operation may have.
    std::int64_t size_max() const noexcept { return size_max_; }

    void start(std::span<Value> values, tag label);

    bool advance();

private:
    // So many segments each way are under way at once: enough for one to travel, one to be worked
    // on, and one to wait at either end.
    static constexpr std::size_t window = 4;

    /// A place in the plan: `done` values of a step's range are behind it.
    struct cursor {
        int index = 0;
        step now;
        std::int64_t done = 0;
    };

    bool halved() const noexcept { return format_ != wire::value_format::fp32; }
    bool complete() const noexcept;

    static range outgoing(const step& s) noexcept { return s.to == nobody ? range{} : s.out; }
    static range incoming(const step& s) noexcept { return s.from == nobody ? range{} : s.in; }

    range next_segment(const cursor& c, range whole) const noexcept;

    /// Steps over what is done, and over steps that have nothing.
    template <class Side>
    void settle(cursor& c, Side side);
    void settle_all();

    bool finish_sends();

    bool finish_receives();

    void post_receives();

    void post_sends();

    /// Whether values that step `sending_` wants to send are still to come in an earlier step.
    bool still_to_arrive(range part) const noexcept;

    /// Whether values that a step changes are on their way out, or have yet to go in that step or
    /// an earlier one.
    bool still_to_send(range part, int step) const noexcept;

    std::span<Value> of(range part) const noexcept;

    std::int64_t wire_bytes(range part) const noexcept;

    mutable_byte_view scratch(std::size_t slot, range part) noexcept;

    mutable_byte_view landing(range part, arrival how) noexcept;

    byte_view packed(range part);

    /// What stands for a part of which only the size is known.
    mutable_byte_view nothing(range part) const;

    void apply(range part, arrival how, std::size_t slot);

    void unpack(byte_view from, std::span<float> to);

    transport_ref through_;
    Plan plan_;
    std::int64_t size_max_;
    wire::value_format format_;
    std::int64_t segment_ = 1;
    std::span<Value> values_;
    tag label_;
    int steps_ = 0;
    cursor sending_;    // the next segment to send
    cursor receiving_;  // the next one to post memory for
    cursor arrived_;    // the next one to arrive
    std::size_t sending_slot_ = 0, receiving_slot_ = 0, arrived_slot_ = 0;
    std::array<range, window> sent_;
    kernels::uninitialised<float> arriving_;  // without content nothing ever arrives there
    std::vector<float> widened_;
    std::array<bytes, window> leaving_;
    bytes rounded_;
    flight sends_;  // last: they are ended before the memory above goes
    flight receives_;
};

}  // namespace sotto::detail::collectives

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/collectives/detail/planned.ipp"
#endif
