#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "sotto/core/bytes.hpp"
#include "sotto/core/describe.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/core/round_info.hpp"
#include "sotto/core/visit.hpp"
#include "sotto/kernels/detail/simd/reductions.hpp"
#include "sotto/wire/value_format.hpp"

namespace sotto {

/// The state that options become once the layout is known. All memory is taken there.
template <class C>
using state_of = decltype(std::declval<const C&>().bind(std::declval<const layout&>()));

}  // namespace sotto

namespace sotto::detail {

/// Options that become a state for a layout.
template <class C>
concept binds_to_layout = requires(const C& options, const layout& tensors) {
    options.bind(tensors);
};

/// See compressor.
template <class C>
concept encodes = requires(state_of<C>& state, const tensor& t, std::span<const float> gradient,
                           bytes& out) {
    state.encode(t, gradient, out);
};

/// See compressor.
template <class C>
concept decodes = requires(state_of<C>& state, const tensor& t, byte_view message,
                           std::span<float> sum) {
    state.decode_add(t, message, sum);
};

}  // namespace sotto::detail

namespace sotto {

/// What of a gradient is sent, and what is remembered of the rest. One state serves all tensors of
/// the layout it was bound to: what it remembers of a tensor it keeps at the tensor's `offset` or
/// under its `index`. It is never called by two threads at a time; in a round each tensor is
/// encoded at most once, in whatever order gradients become ready. Its messages, its own among
/// them, are decoded after that, but perhaps before other tensors are encoded, and its own twice.
/// Messages may lie at any address.
///   encode(tensor, gradient, out)      appends this rank's message for one tensor; it never clears
///                                      `out`
///   decode_add(tensor, message, sum)   adds what a message says to `sum`; throws malformed, then
///                                      having added nothing. It is given empty messages too, and
///                                      refuses them where encode writes none
///
/// A state that remembers something needs commit and rollback: a round that fails must be as if it
/// had never been. If the options say so by `static constexpr bool remembers = true`, have
/// holds_momentum or a `memory` other than no_memory, a rank without data in a round encodes a
/// gradient of zeros of share 0, so that what waits is sent all the same; others send nothing then.
///
/// Options may have bind_decoder(layout) -> the same state without what encoding alone needs, such
/// as what is remembered of each weight: only begin_round, decode_add, decode, decode_part and what
/// asks for bounds are called on it; bind(layout).
///
/// That is all a compressor must have. It may have more, each with the default given:
///   message_bytes_max(tensor)   the longest message encode can append; 4 bytes an element and 64
///                               more
///   begin_round(round_info)     called before the first encode of a round; nothing. What is
///                               packed may have another share than what is encoded
///   commit(), rollback()        the round took place on all ranks, or on none: then what encode
///                               took from memory is put back, and memory stands as before the
///                               round; nothing
///   measured(tensor, squares)   called after begin_round and before encode of the same round: the
///                               sum of squares of the gradient that encode will be given; nothing
///   weighs(tensor), encode_weighted(tensor, gradient, weight, out)
///                               whether it spares the caller a pass over this tensor's gradient:
///                               as encode of `weight` times it, bit for bit, which throws
///                               errc::non_finite where a value is not finite. It is not measured
///                               then; no. A type `weighing` names the state that has them: one
///                               that derives from it and encodes otherwise is as if without
///   waits_for_all()             whether every tensor is to be measured before the first is
///                               encoded; false
///   decoding_bytes()            the memory that a state of bind_decoder takes, or more; twice what
///                               visit shows and 16 bytes a value of the largest tensor
///   decode_part(tensor, message, first, values)
///                               overwrites `values` with what a message says of the elements from
///                               place `first` on; throws malformed. For messages of which any part
///                               can be decoded alone. With it there may be
///   floats_in(tensor, message)  where a message has all values as this machine has floats; nothing
///                               if it has not; throws malformed
///   after_sum(tensor, sum)      called once a round after all ranks' messages for the tensor were
///                               added up, also where there were none: `sum` holds what they add up
///                               to, and is to become what the optimizer sees; that very sum. It is
///                               for messages that say how something changed which every rank keeps
///   visit(field)                calls field(name, value, kept) for everything to be saved, see
///                               core/visit.hpp; nothing. A state with commit or rollback but
///                               without visit trains, but is refused where checkpoints are asked
///                               for: what it remembers would be lost
///
/// Tensors that are summed: some or all can be exchanged as vectors of floats that are added up,
/// each rank's onto the next, so that the bytes sent do not grow with the number of ranks. Options
/// whose tensors all are say `static constexpr bool summable = true`.
///   sums(tensor)                      whether this tensor is exchanged so; fixed for the life of
///                                     the state
///   payload_size(tensor)              floats, the same on all ranks, at most the tensor's size
///   pack(tensor, gradient, payload)   may run when sender and receiver are far apart; see encode
///   unpack(tensor, payload_sum, sum)  overwrites `sum` with what the sum of payloads stands for
/// and may have
///   payload_format(tensor)            how payloads travel; fp32
///   gathers(tensor)                   whether it can be gathered as messages as well; yes
///   payload_count(tensor)             how many payloads are summed, one after the other, where one
///                                     depends on the sum of another; 1. It is the same on all
///                                     ranks, fixed in a round, and never above what it is when
///                                     the state is bound. Where it is above 1, there are
///   payload_size(tensor, number)      of payload 1, 2, ...: all of a tensor's payloads together
///                                     have at most its size
///   pack_next(tensor, number, payload_sum, payload)
///                                     takes in the sum of the payload before and makes number 1,
///                                     2, ...; unpack gets the sum of the last. Between them other
///                                     tensors are packed
/// A rank that has no gradient in a round, and whose compressor does not remember, packs none: it
/// sends zeros, whatever pack_next makes for it, and unpacks like all others.
///
/// Messages that are index-value runs, of tensors that are not summed, are applied straight to the
/// parameters.
///   decode(tensor, message) -> sparse_view   valid until the next call; throws malformed
///   entries_max(tensor)                      the most entries that one message can have
/// and may have
///   entries_planned(tensor)                  the most entries that any rank's message has in this
///                                            round, the same on all ranks: says when sums get
///                                            dense; not known
///   entry_format(tensor)                     what values are rounded to; fp32
///   decode_into(tensor, message, indices, values) -> sparse_view   the same as decode, into memory
///                                            that has room for entries_max; not there: by a copy
///   decode_pair_into(tensor, message, tensor, message, indices, values) -> optional of two views
///                                            what decode_into makes of the first, and behind it
///                                            of the second, faster; nothing where it cannot be
///                                            or a message is malformed, which decode_into then
///                                            says; not there: nothing
///
/// Entries that can come back after they were sent: sums of them may be selected from once more.
///   take_back(tensor, indices, values)   sums of what ranks sent that no rank applies: this one
///                                        remembers them; the spans stay as they are until commit
///                                        or rollback. Called at most once a round and tensor,
///                                        after encode if the rank encodes
///
/// Options say `static constexpr bool unbiased = true` where their messages are right on average
/// but may be further from the gradient than nothing is, and `holds_momentum = true` where these
/// carry velocity: momentum was applied before the exchange, and must not be again.
template <class C>
concept compressor = detail::binds_to_layout<C> && detail::encodes<C> && detail::decodes<C>;

}  // namespace sotto

namespace sotto::detail {

/// See compressor: tensors that are summed.
template <class C>
concept packs = sotto::compressor<C> &&
    requires(state_of<C>& state, const state_of<C>& fixed, const tensor& t,
             std::span<const float> gradient, std::span<float> payload) {
    { fixed.sums(t) } -> std::same_as<bool>;
    { fixed.payload_size(t) } -> std::same_as<std::int64_t>;
    state.pack(t, gradient, payload);
    state.unpack(t, gradient, payload);
};

/// Every tensor can be exchanged by summing, so that a summing collective may be asked for. A
/// compressor claims it by `static constexpr bool summable = true` in its options.
template <class C>
concept summable = packs<C> && requires {
    requires C::summable;
};

/// Names a message in errors: `decode(...).value(message_of{t})`.
struct message_of {
    const tensor& of;  // the tensor that the message is for
    /// The name, for errors.
    std::string operator()() const { return "the message for tensor '" + of.name + "'"; }
};

/// Index-value runs of one tensor, ascending by index.
struct sparse_view {
    std::span<const std::uint32_t> indices;  // below the tensor's size
    std::span<const float> values;           // as many, in the same order
};

/// See compressor: messages that are index-value runs.
template <class C>
concept sparse = sotto::compressor<C> &&
    requires(state_of<C>& state, const tensor& t, byte_view message) {
    { state.decode(t, message) } -> std::convertible_to<sparse_view>;
    { state.entries_max(t) } -> std::convertible_to<std::int64_t>;
};

/// See compressor: entries that can come back.
template <class C>
concept takes_back = sparse<C> &&
    requires(state_of<C>& state, const tensor& t, std::span<const std::uint32_t> indices,
             std::span<const float> values) {
    state.take_back(t, indices, values);
};

/// Messages carry velocity, not gradients: momentum was applied before the exchange, and must not
/// be again.
template <class C>
concept holds_momentum = requires {
    requires C::holds_momentum;
};

}  // namespace sotto::detail

/// The members that a compressor may leave out.
namespace sotto::detail::compressing {

template <class State>
std::int64_t message_bytes_max(const State& state, const tensor& t) {
    if constexpr (requires { state.message_bytes_max(t); })
        return state.message_bytes_max(t);
    else
        return 4 * t.size + 64;
}

/// A state that only decodes.
template <class Compressor>
state_of<Compressor> bind_decoder(const Compressor& options, const layout& tensors) {
    if constexpr (requires { options.bind_decoder(tensors); })
        return options.bind_decoder(tensors);
    else
        return options.bind(tensors);
}

/// The layout to which a decoder binds what it does not need.
const layout& no_tensors();

template <class State>
bool gathers(const State& state, const tensor& t) {
    if constexpr (requires { state.gathers(t); })
        return state.gathers(t);
    else
        return true;
}

/// The state has entries_planned.
template <class State>
concept plans_entries = requires(const State& state, const tensor& t) {
    { state.entries_planned(t) } -> std::convertible_to<std::int64_t>;
};

template <class State>
wire::value_format entry_format(const State& state, const tensor& t) {
    if constexpr (requires { state.entry_format(t); })
        return state.entry_format(t);
    else
        return wire::value_format::fp32;
}

template <class State>
sparse_view decode_into(State& state, const tensor& t, byte_view message,
                        std::span<std::uint32_t> indices, std::span<float> values) {
    if constexpr (requires { state.decode_into(t, message, indices, values); }) {
        return state.decode_into(t, message, indices, values);
    } else {
        const sparse_view read = state.decode(t, message);
        if (read.indices.size() != read.values.size() || read.indices.size() > indices.size())
            throw malformed(message_of{t}(), {0, "at most as many entries as there is room for",
                                              static_cast<std::int64_t>(read.indices.size()),
                                              static_cast<std::int64_t>(indices.size())});
        std::copy(read.indices.begin(), read.indices.end(), indices.begin());
        std::copy(read.values.begin(), read.values.end(), values.begin());
        return {indices.first(read.indices.size()), values.first(read.values.size())};
    }
}

template <class State>
std::optional<std::array<sparse_view, 2>> decode_pair_into(State& state, const tensor& first,
                                                           byte_view first_in, const tensor& second,
                                                           byte_view second_in,
                                                           std::span<std::uint32_t> indices,
                                                           std::span<float> values) {
    if constexpr (requires {
                      state.decode_pair_into(first, first_in, second, second_in, indices, values);
                  })
        return state.decode_pair_into(first, first_in, second, second_in, indices, values);
    else
        return std::nullopt;
}

/// How a tensor's payloads travel, where it is summed.
template <class State>
wire::value_format payload_format(const State& state, const tensor& t) {
    if constexpr (requires { state.payload_format(t); })
        return state.payload_format(t);
    else
        return wire::value_format::fp32;
}

/// How many payloads of a tensor are summed.
template <class State>
int payload_count(const State& state, const tensor& t) {
    if constexpr (requires { state.payload_count(t); })
        return state.payload_count(t);
    else
        return 1;
}

template <class State>
std::int64_t payload_size(const State& state, const tensor& t, int number) {
    if constexpr (requires { state.payload_size(t, number); })
        if (number > 0) return state.payload_size(t, number);
    return state.payload_size(t);
}

template <class State>
void pack_next(State& state, const tensor& t, int number, std::span<const float> payload_sum,
               std::span<float> payload) {
    if constexpr (requires { state.pack_next(t, number, payload_sum, payload); })
        state.pack_next(t, number, payload_sum, payload);
}

template <class State>
void begin_round(State& state, const round_info& where) {
    if constexpr (requires { state.begin_round(where); }) state.begin_round(where);
}

template <class State>
void commit(State& state) noexcept {
    if constexpr (requires { state.commit(); }) {
        static_assert(noexcept(state.commit()),
                      "compressor: commit() must be noexcept: the round took place on all ranks");
        state.commit();
    }
}

template <class State>
void rollback(State& state) noexcept {
    if constexpr (requires { state.rollback(); }) {
        static_assert(noexcept(state.rollback()),
                      "compressor: rollback() must be noexcept: it runs while an error passes");
        state.rollback();
    }
}

/// Messages can be decoded part by part.
template <class State>
concept decodes_parts = requires(State& state, const tensor& t, byte_view message,
                                 std::int64_t first, std::span<float> values) {
    state.decode_part(t, message, first, values);
};

template <class State>
std::optional<byte_view> floats_in(State& state, const tensor& t, byte_view message) {
    if constexpr (requires { state.floats_in(t, message); })
        return state.floats_in(t, message);
    else
        return std::nullopt;
}

/// The state has after_sum.
template <class State>
concept has_after_sum = requires(State& state, const tensor& t, std::span<float> sum) {
    state.after_sum(t, sum);
};

/// From the sum of all ranks' messages to what the optimizer sees.
template <class State>
void after_sum(State& state, const tensor& t, std::span<float> sum) {
    if constexpr (has_after_sum<State>) state.after_sum(t, sum);
}

template <class State, class Field>
void visit(State& state, Field&& field) {
    if constexpr (requires { state.visit(field); }) state.visit(field);
}

/// What decoding takes, of this layout.
template <class State>
std::int64_t decoding_bytes(const State& state, const layout& tensors) {
    if constexpr (requires { state.decoding_bytes(); }) {
        return state.decoding_bytes();
    } else {
        std::int64_t largest = 0, shown = 0;
        for (const tensor& t : tensors) largest = (std::max)(largest, t.size);
        if constexpr (sotto::visitable<State>)
            visit(const_cast<State&>(state), [&](std::string_view, auto&& value, auto...) {
                if constexpr (requires { value.size_bytes(); })
                    shown += static_cast<std::int64_t>(value.size_bytes());
            });
        return 2 * shown + 16 * largest;
    }
}

/// Whether a checkpoint has all that the state remembers: it shows it, or nothing takes part in
/// rounds that could be undone.
template <class State>
concept can_be_saved = sotto::visitable<State> || !(
    requires(State & state) { state.commit(); } || requires(State & state) { state.rollback(); });

/// The momentum that messages carry.
template <class State>
carried_momentum momentum(const State& state) noexcept {
    if constexpr (requires { state.momentum(); })
        return state.momentum();
    else
        return {};
}

/// Whether every tensor must be measured before the first can be encoded.
template <class State>
bool waits_for_all(const State& state) noexcept {
    if constexpr (requires { state.waits_for_all(); })
        return state.waits_for_all();
    else
        return false;
}

/// The gradient of `t` that encode will be given has this sum of squares.
template <class State>
void measured(State& state, const tensor& t, double sum_of_squares) {
    if constexpr (requires { state.measured(t, sum_of_squares); })
        state.measured(t, sum_of_squares);
}

/// The state has weighs and encode_weighted of its own.
template <class State>
concept encodes_weighted = requires(State& state, const State& fixed, const tensor& t,
                                    std::span<const float> gradient, float weight, bytes& out) {
    requires std::same_as<typename State::weighing, State>;
    { fixed.weighs(t) } -> std::same_as<bool>;
    state.encode_weighted(t, gradient, weight, out);
};

/// Whether the gradient of `t` can be given to encode_weighted.
template <class State>
bool weighs(const State& state, const tensor& t) noexcept {
    if constexpr (encodes_weighted<State>)
        return state.weighs(t);
    else
        return false;
}

/// Measures every tensor that is to be measured, where the caller has not.
template <class State>
void measure(State& state, const layout& tensors, std::span<const float> gradient) {
    if constexpr (requires(const tensor& t) { state.measured(t, 0.0); })
        for (const tensor& t : tensors)
            if (!weighs(state, t)) state.measured(t, kernels::sum_of_squares(t.of(gradient)));
}

}  // namespace sotto::detail::compressing

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/compressors/compressor.ipp"
#endif
