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

/// Runs a plan on values in place, without ever blocking.
///
/// Values travel in segments. A rank forwards a segment as soon as it is here. While one segment is
/// added up, the next is in flight, and added values are still in the cache. The plan alone decides
/// the order of sums; segments and the order of arrival do not change it.
///   wire    a message for each segment: its values in the format, little endian, no header; empty
///           segments are not sent
///   cost    scratch of 4 segments of floats if the plan adds, and 4 of 16-bit values if the format
///           has these. The values pass through memory once when they are sent and once when they
///           arrive
///   work    charges 12 bytes of memory a value that is added. Values `size_only` are not read or
///           written
///   errors  start throws invalid_option: more values than were bound; std::logic_error: started
///           before it was complete. advance throws mismatch: another rank has another number of
///           values; and the transport's errors
template <plan Plan, class Value = float>
class planned {
    static_assert(std::is_same_v<Value, float> || !Plan::adds, "planned: only floats are added");
    static constexpr bool floats = std::is_same_v<Value, float>;

public:
    // 256 KiB of floats: several fit into a second-level cache, one fills the buffers of a socket.
    static constexpr std::int64_t default_segment = 65536;  // values of a segment

    /// size_max, format and segment are the same on all ranks. Only floats have other formats than
    /// fp32.
    planned(transport_ref through, Plan what, std::int64_t size_max,
            wire::value_format format = wire::value_format::fp32,
            std::int64_t segment = default_segment);

    /// Maximum number of values of one operation.
    std::int64_t size_max() const noexcept { return size_max_; }

    void start(std::span<Value> values, tag label);

    bool advance();

private:
    // Segments in flight in each direction: one travels, one is processed, and one waits at either
    // end.
    static constexpr std::size_t window = 4;

    /// A place in the plan: `done` values of the step's range are finished.
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

    /// Moves the cursor past finished steps and past steps without values.
    template <class Side>
    void settle(cursor& c, Side side);
    void settle_all();

    bool finish_sends();

    bool finish_receives();

    void post_receives();

    void post_sends();

    /// True if values that step `sending_` sends have yet to arrive in an earlier step.
    bool still_to_arrive(range part) const noexcept;

    /// True if values that a step changes are in flight, or are still to be sent in that step or an
    /// earlier one.
    bool still_to_send(range part, int step) const noexcept;

    std::span<Value> of(range part) const noexcept;

    std::int64_t wire_bytes(range part) const noexcept;

    mutable_byte_view scratch(std::size_t slot, range part) noexcept;

    mutable_byte_view landing(range part, arrival how) noexcept;

    byte_view packed(range part);

    /// Stands for a part of known size without content.
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
    cursor sending_;    // next segment to send
    cursor receiving_;  // next segment to post memory for
    cursor arrived_;    // next segment to arrive
    std::size_t sending_slot_ = 0, receiving_slot_ = 0, arrived_slot_ = 0;
    std::array<range, window> sent_;
    kernels::uninitialised<float> arriving_;  // without content nothing ever arrives there
    std::vector<float> widened_;
    std::array<bytes, window> leaving_;
    bytes rounded_;
    flight sends_;  // last: transfers end before the memory above is freed
    flight receives_;
};

}  // namespace sotto::detail::collectives

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/collectives/detail/planned.ipp"
#endif
