#pragma once

#include "sotto/collectives/detail/planned.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include "sotto/collectives/detail/flight.hpp"
#include "sotto/collectives/detail/plan.hpp"
#include "sotto/core/bytes.hpp"
#include "sotto/core/size_only.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/kernels/detail/simd/arithmetic.hpp"
#include "sotto/kernels/detail/simd/uninitialised.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"
#include "sotto/wire/value_format.hpp"

#ifdef SOTTO_SEPARATE_COMPILATION
#include "sotto/collectives/all_reduce.hpp"
#include "sotto/collectives/detail/all_gather_parts.hpp"
#include "sotto/collectives/detail/broadcast.hpp"
#include "sotto/collectives/halving_doubling.hpp"
#include "sotto/collectives/ring.hpp"
#include "sotto/collectives/tree.hpp"
#endif

namespace sotto::detail::collectives {

template <plan Plan, class Value>
planned<Plan, Value>::planned(transport_ref through, Plan what, std::int64_t size_max,
                              wire::value_format format, std::int64_t segment)
    : through_(through),
      plan_(std::move(what)),
      size_max_(size_max),
      format_(format),
      sends_(through, window),
      receives_(through, window) {
    if (size_max < 0 || segment < 1)
        throw invalid_option("collectives: at most " + std::to_string(size_max) +
                             " values in segments of " + std::to_string(segment) +
                             "; at least 0 and 1 are possible");
    if (!floats && halved()) throw invalid_option("collectives: only floats can travel as halves");
    segment_ = std::clamp<std::int64_t>(size_max, 1, segment);
    const auto room = static_cast<std::size_t>(segment_);
    if (Plan::adds || halved()) arriving_.reserve(window * room);
    if (halved()) {
        widened_.resize(room);
        for (bytes& slot : leaving_) slot.reserve(2 * room);
        rounded_.reserve(2 * room);
    }
}

template <plan Plan, class Value>
void planned<Plan, Value>::start(std::span<Value> values, tag label) {
    if (!complete())
        throw std::logic_error("collectives: an operation was started before it was complete");
    if (static_cast<std::int64_t>(values.size()) > size_max_)
        throw invalid_option("collectives: " + std::to_string(values.size()) +
                             " values, but bound for at most " + std::to_string(size_max_));
    values_ = values;
    label_ = label;
    plan_.begin(static_cast<std::int64_t>(values.size()));
    steps_ = plan_.steps();
    for (cursor* c : {&sending_, &receiving_, &arrived_})
        *c = steps_ > 0 ? cursor{0, plan_.at(0), 0} : cursor{};
    settle_all();
    advance();
}

template <plan Plan, class Value>
bool planned<Plan, Value>::advance() {
    for (bool moved = true; moved;) {
        post_receives();
        post_sends();
        moved = finish_sends();
        moved = finish_receives() || moved;
    }
    return complete();
}

template <plan Plan, class Value>
bool planned<Plan, Value>::complete() const noexcept {
    return arrived_.index == steps_ && sending_.index == steps_ && sends_.empty();
}

template <plan Plan, class Value>
range planned<Plan, Value>::next_segment(const cursor& c, range whole) const noexcept {
    const std::int64_t begin = whole.begin + c.done;
    return {begin, (std::min)(begin + segment_, whole.end)};
}

template <plan Plan, class Value>
template <class Side>
void planned<Plan, Value>::settle(cursor& c, Side side) {
    while (c.index < steps_ && c.done == side(c.now).size()) {
        ++c.index;
        c.done = 0;
        if (c.index < steps_) c.now = plan_.at(c.index);
    }
}

template <plan Plan, class Value>
void planned<Plan, Value>::settle_all() {
    settle(sending_, outgoing);
    settle(receiving_, incoming);
    settle(arrived_, incoming);
}

template <plan Plan, class Value>
bool planned<Plan, Value>::finish_sends() {
    bool moved = false;
    while (sends_.pop_complete()) moved = true;
    return moved;
}

template <plan Plan, class Value>
bool planned<Plan, Value>::finish_receives() {
    bool moved = false;
    while (!receives_.empty()) {
        const range part = next_segment(arrived_, arrived_.now.in);
        // Added values arrive in separate memory and wait there until the old sum is sent.
        if (arrived_.now.how != arrival::replace && still_to_send(part, arrived_.index)) break;
        const auto ended = receives_.pop_complete();
        if (!ended) break;
        if (ended->bytes != wire_bytes(part))
            throw mismatch("collectives: rank " + std::to_string(ended->source) + " sent " +
                           std::to_string(ended->bytes) + " bytes where rank " +
                           std::to_string(through_.rank()) + " expected " +
                           std::to_string(wire_bytes(part)) +
                           ": they were started with different numbers of values");
        apply(part, arrived_.now.how, arrived_slot_);
        arrived_slot_ = (arrived_slot_ + 1) % window;
        arrived_.done += part.size();
        settle(arrived_, incoming);
        post_receives();  // now: what arrives during the next addition is received directly
        moved = true;
    }
    return moved;
}

template <plan Plan, class Value>
void planned<Plan, Value>::post_receives() {
    while (receiving_.index < steps_ && !receives_.full()) {
        const step& now = receiving_.now;
        const range part = next_segment(receiving_, now.in);
        if (now.how == arrival::replace && still_to_send(part, receiving_.index)) break;
        receives_.push(through_.receive(now.from, label_, landing(part, now.how)));
        receiving_slot_ = (receiving_slot_ + 1) % window;
        receiving_.done += part.size();
        settle(receiving_, incoming);
    }
}

template <plan Plan, class Value>
void planned<Plan, Value>::post_sends() {
    while (sending_.index < steps_ && !sends_.full()) {
        const range part = next_segment(sending_, sending_.now.out);
        if (still_to_arrive(part)) break;
        sends_.push(through_.send(sending_.now.to, label_, packed(part)));
        sent_[sending_slot_] = part;
        sending_slot_ = (sending_slot_ + 1) % window;
        sending_.done += part.size();
        settle(sending_, outgoing);
    }
}

template <plan Plan, class Value>
bool planned<Plan, Value>::still_to_arrive(range part) const noexcept {
    if (arrived_.index >= sending_.index) return false;
    if (arrived_.index + 1 < sending_.index) return true;
    return part.overlaps({arrived_.now.in.begin + arrived_.done, arrived_.now.in.end});
}

template <plan Plan, class Value>
bool planned<Plan, Value>::still_to_send(range part, int step) const noexcept {
    for (std::size_t back = 1; back <= sends_.size(); ++back)
        if (part.overlaps(sent_[(sending_slot_ + window - back) % window])) return true;
    if (sending_.index > step) return false;
    if (part.overlaps({sending_.now.out.begin + sending_.done, sending_.now.out.end})) return true;
    for (int k = sending_.index + 1; k <= step; ++k)
        if (part.overlaps(outgoing(plan_.at(k)))) return true;
    return false;
}

template <plan Plan, class Value>
std::span<Value> planned<Plan, Value>::of(range part) const noexcept {
    return values_.subspan(static_cast<std::size_t>(part.begin),
                           static_cast<std::size_t>(part.size()));
}

template <plan Plan, class Value>
std::int64_t planned<Plan, Value>::wire_bytes(range part) const noexcept {
    return part.size() * (halved() ? 2 : static_cast<std::int64_t>(sizeof(Value)));
}

template <plan Plan, class Value>
mutable_byte_view planned<Plan, Value>::scratch(std::size_t slot, range part) noexcept {
    const auto room = static_cast<std::size_t>(segment_);
    return std::as_writable_bytes(std::span(arriving_.data() + slot * room, room))
        .first(static_cast<std::size_t>(wire_bytes(part)));
}

template <plan Plan, class Value>
mutable_byte_view planned<Plan, Value>::landing(range part, arrival how) noexcept {
    if (how == arrival::replace && !halved()) return std::as_writable_bytes(of(part));
    if (!has_content(values_)) return nothing(part);
    return scratch(receiving_slot_, part);
}

template <plan Plan, class Value>
byte_view planned<Plan, Value>::packed(range part) {
    if constexpr (floats) {
        if (halved()) {
            if (!has_content(values_)) return nothing(part);
            bytes& slot = leaving_[sending_slot_];
            slot.clear();
            sotto::wire::append_values(format_, of(part), slot);
            return slot;
        }
    }
    return std::as_bytes(of(part));
}

template <plan Plan, class Value>
mutable_byte_view planned<Plan, Value>::nothing(range part) const {
    return size_only<std::byte>(static_cast<std::size_t>(wire_bytes(part)));
}

template <plan Plan, class Value>
void planned<Plan, Value>::apply(range part, arrival how, std::size_t slot) {
    if constexpr (floats) {
        const double n = static_cast<double>(part.size());
        if (how != arrival::replace || halved())
            through_.charge({.flops = n, .bytes = halved() ? 10.0 * n : 12.0 * n});
        if (!has_content(values_)) return;
        const std::span<float> values = of(part);
        if (how == arrival::replace) {
            if (halved()) unpack(scratch(slot, part), values);
            return;
        }
        const auto count = static_cast<std::size_t>(part.size());
        if (!halved()) {
            const std::size_t start = slot * static_cast<std::size_t>(segment_);
            kernels::add(values, std::span<const float>(arriving_.data() + start, count));
            return;
        }
        const auto widened = std::span(widened_).first(count);
        unpack(scratch(slot, part), widened);
        kernels::add(values, widened);
        if (how == arrival::add_last) {
            rounded_.clear();
            sotto::wire::append_values(format_, values, rounded_);
            unpack(rounded_, values);
        }
    }
}

template <plan Plan, class Value>
void planned<Plan, Value>::unpack(byte_view from, std::span<float> to) {
    (void)sotto::wire::read_values(format_, from, to).value("collectives");
}

#ifdef SOTTO_SEPARATE_COMPILATION
template class planned<all_gather_plan>;
template class planned<all_reduce_plan>;
template class planned<broadcast_plan>;
template class planned<broadcast_plan, std::byte>;
template class planned<halving_doubling_plan>;
template class planned<ring_plan>;
template class planned<tree_plan>;
#endif

}  // namespace sotto::detail::collectives
