#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "sotto/compressors/compressor.hpp"
#include "sotto/compressors/density_schedule.hpp"
#include "sotto/compressors/local_clipping.hpp"
#include "sotto/compressors/memory.hpp"
#include "sotto/compressors/no_memory.hpp"
#include "sotto/compressors/selector.hpp"
#include "sotto/kernels/detail/simd/arithmetic.hpp"
#include "sotto/kernels/selection.hpp"
#include "sotto/wire/dense_block.hpp"
#include "sotto/wire/detail/blocks/clamp_to_format.hpp"
#include "sotto/wire/detail/blocks/sparse_pair.hpp"
#include "sotto/wire/sparse_block.hpp"

namespace sotto::detail {

/// A threshold's is not: as many entries reach it as there are.
template <class S>
concept density_is_an_option = requires(S& options) {
    options.density = 0.5;
};

template <class S>
using bound_selector_of =
    decltype(std::declval<const S&>().bind_selector(std::declval<const layout&>()));

/// One pass over memory instead of three.
template <class S, class M>
concept steps_in_one_pass = requires(bound_selector_of<S>& chooses, bound_memory_of<M>& memory,
                                     const tensor& t, std::span<const float> gradient) {
    memory.give_back(t, memory.step(t, gradient, 1.0f, t.size, 0.5, chooses.exact()).indices,
                     gradient);
};
}  // namespace sotto::detail

namespace sotto {

/// Sends chosen entries of what has accumulated and remembers the rest: Deep Gradient Compression
/// and its relatives are compositions of a selector (which entries), a memory (what becomes of the
/// others), a density schedule, local clipping and a message format.
///   math    for each tensor: clip -> memory takes the gradient in -> the selector chooses k =
///           ceil(density * n) -> memory gives those up -> send. Gradients come in already divided
///           by the number of workers; messages are added up.
///   wire    a wire::sparse_block a tensor; with dense_vectors, vectors are summed as they are, or
///           sent to a server with the memory's momentum applied
///   cost    see the parts; encode and decode allocate nothing
///   errors  bind throws invalid_option: an option out of range, a tensor of more than 2^32
///           elements; decode throws malformed; begin_round throws invalid_option when the
///           schedule's density is above that of the first round, for which memory was taken
///   source  Lin et al. 2018, Deep Gradient Compression, arXiv:1712.01887
template <class Selector, class Memory, class Schedule = constant_density>
struct sparsified {
    static_assert(selector<Selector>,
                  "sparsified: the first policy must be a selector: it needs density and "
                  "bind_selector(layout) with "
                  "begin_round(round_info), select(tensor, values, k) and entries_max(tensor, k)");
    static_assert(memory<Memory>,
                  "sparsified: the second policy must be a memory: it needs holds_momentum and "
                  "bind_memory(layout) with accumulate, take, after_sum, commit, rollback and "
                  "visit(field, summed), which shows what checkpoints are to keep");
    static_assert(
        detail::density_schedule<Schedule>,
        "sparsified: the third policy must be a density schedule: it needs density(epoch, target)");

    /// How entries are written, and which tensors are not worth choosing from.
    struct message_format {
        static constexpr std::string_view described_as = "sparse_message";

        // Of gathered entries: what rounding takes away stays in memory. Entries that are summed on
        // the way are rounded at every stop, where no memory could keep the rest: with a memory
        // they go as floats.
        wire::value_format values = wire::value_format::fp32;  // of entries in messages
        bool dense_vectors =
            true;  // biases and normalisation whole: they are few, and no index is sent for them

        void describe(auto&& field) const {
            field("values", values);
            field("dense_vectors", dense_vectors);
        }
    };

    Selector selector{};        // which entries are sent
    Memory memory{};            // what becomes of the others
    Schedule schedule{};        // how many are sent
    local_clipping clipping{};  // of what comes in
    message_format message{};   // how they are written

    static constexpr bool holds_momentum = Memory::holds_momentum;
    static constexpr bool summable = detail::shared_selector<Selector>;

    class state;
    state bind(const layout& tensors) const { return state(*this, tensors); }
    state bind_decoder(const layout& tensors) const { return state(*this, tensors, false); }

    void describe(auto&& field) const {
        field("selector", selector);
        field("memory", memory);
        field("schedule", schedule);
        field("clipping", clipping);
        field("message", message);
    }
};

template <class Selector, class Memory>
sparsified(Selector, Memory) -> sparsified<Selector, Memory>;
template <class Selector, class Memory, class Schedule>
sparsified(Selector, Memory, Schedule) -> sparsified<Selector, Memory, Schedule>;
template <class Selector, class Memory, class Schedule>
sparsified(Selector, Memory, Schedule, local_clipping) -> sparsified<Selector, Memory, Schedule>;
template <class Selector, class Memory, class Schedule>
sparsified(Selector, Memory, Schedule, local_clipping,
           typename sparsified<Selector, Memory, Schedule>::message_format)
    -> sparsified<Selector, Memory, Schedule>;

template <class Selector, class Memory, class Schedule>
class sparsified<Selector, Memory, Schedule>::state {
public:
    state(const sparsified& options, const layout& tensors, bool encodes = true)
        : options_(checked(options, tensors)),
          selector_(options.selector.bind_selector(tensors)),
          memory_(
              options.memory.bind_memory(encodes ? tensors : detail::compressing::no_tensors())),
          densest_(options.schedule.density(0.0, options.selector.density)),
          density_(densest_),
          squares_(tensors.tensors().size(), not_measured) {
        std::int64_t most = 0;
        for (const tensor& t : tensors) most = (std::max)(most, dense(t) ? t.size : entries_max(t));
        values_.resize(static_cast<std::size_t>(most));
        indices_.resize(static_cast<std::size_t>(most));
        for (const tensor& t : tensors) largest_ = (std::max)(largest_, t.size);
        if (!encodes) return;
        if constexpr (steps_at_once)
            if (options.message.values != wire::value_format::fp32)
                rests_.resize(static_cast<std::size_t>(most));
        if constexpr (requires { selector_.reserve(tensors[0], most); })
            for (const tensor& t : tensors)
                if (!dense(t)) selector_.reserve(t, entries_max(t));
    }

    void begin_round(const round_info& where) {
        density_ = options_.schedule.density(where.epoch, options_.selector.density);
        check_density("sparsified", density_);
        if (density_ > densest_)
            throw invalid_option("sparsified: the schedule's density grew from " +
                                 std::to_string(densest_) + " in the first round to " +
                                 std::to_string(density_) + "; it must never be above the first");
        workers_ = where.world_size;
        weight_ = where.weight();
        packed_weight_ = where.packed_weight();
        forget_measures();
        selector_.begin_round(where);
    }

    bool waits_for_all() const noexcept {
        return options_.clipping.norm > 0.0 && options_.clipping.scope == local_clipping::per_model;
    }

    void measured(const tensor& t, double sum_of_squares) noexcept {
        squares_[static_cast<std::size_t>(t.index)] = sum_of_squares;
        model_squares_ = not_measured;
    }

    void encode(const tensor& t, std::span<const float> gradient, bytes& out) {
        if (dense(t)) {
            if (clips_sums())
                throw invalid_option(
                    "sparsified: tensor '" + t.name +
                    "' is to be clipped after the sum over ranks, but goes as a message of its "
                    "own: use local_clipping::before_sum, or all_reduce");
            const auto values = std::span(values_).first(gradient.size());
            clip(t, gradient, weight_, values);
            // Among ranks it is summed, see gathers: a message goes to a server, which adds up
            // messages and has no memory to call after the sum.
            memory_.after_sum(t, values);
            wire::encode_dense(values, wire::value_format::fp32, out);
            return;
        }
        write(t, choose(t, gradient, clip_factor(t, gradient, weight_), options_.message.values),
              out);
    }

    /// See compressor.
    using weighing = state;

    /// A step that selects in the pass that takes the gradient in weighs there too; and what is not
    /// finite is larger than all else, so that it is among what was selected.
    bool weighs(const tensor& t) const noexcept {
        return steps_at_once && !dense(t) && options_.clipping.norm == 0.0;
    }

    void encode_weighted(const tensor& t, std::span<const float> gradient, float weight,
                         bytes& out) requires detail::steps_in_one_pass<Selector, Memory> {
        write(t, choose(t, gradient, weight, options_.message.values), out);
    }

    /// As decode, into memory of the caller's.
    detail::sparse_view decode_into(const tensor& t, byte_view in, std::span<std::uint32_t> indices,
                                    std::span<float> values) {
        const auto entries =
            wire::decode_sparse(in, t.size, indices, values).value(detail::message_of{t});
        return {entries.indices, entries.values};
    }

    std::optional<std::array<detail::sparse_view, 2>> decode_pair_into(
        const tensor& first, byte_view first_in, const tensor& second, byte_view second_in,
        std::span<std::uint32_t> indices, std::span<float> values) noexcept {
        const auto entries = detail::wire::decode_sparse_pair(
            {{{first_in, first.size}, {second_in, second.size}}}, indices, values);
        if (!entries) return std::nullopt;
        const auto& [a, b] = *entries;
        return std::array{detail::sparse_view{a.indices, a.values},
                          detail::sparse_view{b.indices, b.values}};
    }

    detail::sparse_view decode(const tensor& t, byte_view in) {
        return decode_into(t, in, indices_, values_);
    }

    void decode_add(const tensor& t, byte_view in, std::span<float> sum) {
        if (dense(t)) {
            const auto values = std::span(values_).first(sum.size());
            detail::kernels::add(sum, wire::decode_dense(in, values).value(detail::message_of{t}));
            return;
        }
        const detail::sparse_view entries = decode(t, in);
        for (std::size_t j = 0; j < entries.indices.size(); ++j)
            sum[entries.indices[j]] += entries.values[j];
    }

    std::int64_t message_bytes_max(const tensor& t) const {
        if (dense(t)) return wire::encoded_dense_bytes(t.size, wire::value_format::fp32);
        return wire::encoded_sparse_bytes_max(t.size, entries_max(t), options_.message.values);
    }

    /// What a selector takes when it is bound is at most some 4 bytes a value.
    std::int64_t decoding_bytes() const noexcept {
        return static_cast<std::int64_t>(8 * values_.size() + 8 * squares_.size()) + 4 * largest_;
    }

    std::int64_t entries_max(const tensor& t) const {
        return selector_.entries_max(t, entries_at(densest_, t.size));
    }

    /// Where the density says how many are chosen: what every rank sends in this round, at most.
    std::int64_t entries_planned(
        const tensor& t) const requires detail::density_is_an_option<Selector> {
        return entries_now(t);
    }

    wire::value_format entry_format(const tensor&) const noexcept {
        return options_.message.values;
    }

    /// See memory.
    void take_back(const tensor& t, std::span<const std::uint32_t> indices,
                   std::span<const float> values) noexcept requires
        requires(bound_memory_of<Memory>& bound) {
        bound.take_back(t, indices, values);
    }
    { memory_.take_back(t, indices, values); }

    bool sums(const tensor& t) const noexcept { return dense(t) || summable; }

    /// A vector that goes dense gets its momentum after the sum, and so is summed always.
    bool gathers(const tensor& t) const noexcept { return !dense(t); }

    wire::value_format payload_format(const tensor& t) const noexcept {
        constexpr bool forgets = std::is_same_v<Memory, no_memory>;
        return dense(t) || !forgets ? wire::value_format::fp32 : options_.message.values;
    }

    std::int64_t payload_size(const tensor& t) const { return dense(t) ? t.size : entries_now(t); }

    void pack(const tensor& t, std::span<const float> gradient, std::span<float> payload) {
        if (dense(t)) {
            if (clips_sums())
                std::copy(gradient.begin(), gradient.end(), payload.begin());
            else
                clip(t, gradient, packed_weight_, payload);
            return;
        }
        const auto indices =
            choose(t, gradient, clip_factor(t, gradient, packed_weight_), payload_format(t));
        const auto rest = std::copy_n(values_.begin(), indices.size(), payload.begin());
        std::fill(rest, payload.end(), 0.0f);
    }

    void unpack(const tensor& t, std::span<const float> payload_sum, std::span<float> sum) {
        if (dense(t)) {
            const float factor = options_.clipping.factor_of_sum(payload_sum, workers_);
            for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = factor * payload_sum[i];
            memory_.after_sum(t, sum);
            return;
        }
        std::fill(sum.begin(), sum.end(), 0.0f);
        const auto indices = selected(t, sum);
        for (std::size_t j = 0; j < indices.size(); ++j) sum[indices[j]] = payload_sum[j];
    }

    void commit() noexcept {
        memory_.commit();
        forget_measures();
    }
    void rollback() noexcept {
        memory_.rollback();
        forget_measures();
    }
    void visit(auto&& field) {
        memory_.visit(field, [this](const tensor& t) { return dense(t); });
        detail::compressing::visit(selector_, field);
    }

    /// Whether tensors that are summed dense are clipped after the sum: they then cannot go as
    /// messages, to a server.
    bool clips_sums() const noexcept { return options_.clipping.clips_sums(); }

    /// The share of entries that this round sends of each chosen tensor.
    double density() const noexcept { return density_; }
    /// The memory's state.
    const auto& memory() const noexcept { return memory_; }

    /// The momentum that messages carry.
    detail::carried_momentum momentum() const noexcept requires requires(const Memory& options) {
        options.momentum, options.nesterov;
    }
    { return {options_.memory.momentum, options_.memory.nesterov}; }

private:
    /// Before any memory is taken.
    static const sparsified& checked(const sparsified& options, const layout& tensors) {
        options.clipping.check();
        if constexpr (requires { options.schedule.check(); }) options.schedule.check();
        check_density("sparsified", options.schedule.density(0.0, options.selector.density));
        for (const tensor& t : tensors)
            if (t.size > std::int64_t{1} << 32)
                throw invalid_option(
                    "sparsified: tensor '" + t.name + "' has " + std::to_string(t.size) +
                    " elements; a sparse block indexes at most 2^32: split it in the layout");
        return options;
    }

    bool dense(const tensor& t) const noexcept {
        return options_.message.dense_vectors && t.is_vector();
    }

    float clip_factor(const tensor& t, std::span<const float> gradient, double weight) {
        if (waits_for_all()) return options_.clipping.factor_of(model_squares(), weight);
        const double squares = squares_[static_cast<std::size_t>(t.index)];
        return squares == not_measured ? options_.clipping.factor(gradient, weight)
                                       : options_.clipping.factor_of(squares, weight);
    }

    void clip(const tensor& t, std::span<const float> gradient, double weight,
              std::span<float> clipped) {
        const float factor = clip_factor(t, gradient, weight);
        for (std::size_t i = 0; i < clipped.size(); ++i) clipped[i] = factor * gradient[i];
    }

    /// The whole gradient's, added in the order of tensors.
    double model_squares() {
        if (model_squares_ != not_measured) return model_squares_;
        double sum = 0.0;
        for (const double squares : squares_) {
            if (squares == not_measured)
                throw invalid_option(
                    "sparsified: a tensor is encoded before all are measured; clipping per_model "
                    "needs measured(tensor, sum_of_squares) of every tensor first");
            sum += squares;
        }
        return model_squares_ = sum;
    }

    void forget_measures() noexcept {
        std::fill(squares_.begin(), squares_.end(), not_measured);
        model_squares_ = not_measured;
    }

    /// Takes the gradient in and the chosen entries out; `values_` then holds what receivers will
    /// see of them.
    std::span<const std::uint32_t> choose(const tensor& t, std::span<const float> gradient,
                                          float factor, wire::value_format format) {
        if constexpr (steps_at_once) {
            const std::int64_t k = entries_now(t);
            const kernels::selection chosen =
                memory_.step(t, gradient, factor, k, sparsity(t, k), selector_.exact());
            round_values(t, chosen, format);
            if (format != wire::value_format::fp32) {
                for (std::size_t j = 0; j < chosen.values.size(); ++j)
                    rests_[j] = chosen.values[j] - values_[j];
                memory_.give_back(t, chosen.indices,
                                  std::span<const float>(rests_).first(chosen.values.size()));
            }
            return chosen.indices;
        } else {
            const std::span<const float> accumulated = memory_.accumulate(t, gradient, factor);
            const std::span<const std::uint32_t> indices = selected(t, accumulated);
            for (std::size_t j = 0; j < indices.size(); ++j) values_[j] = accumulated[indices[j]];
            const auto values = std::span<const float>(values_).first(indices.size());
            round_values(t, {indices, values}, format);
            const auto count = static_cast<std::int64_t>(indices.size());
            memory_.take(t, indices, values, sparsity(t, count));
            return indices;
        }
    }

    void write(const tensor& t, std::span<const std::uint32_t> indices, bytes& out) {
        wire::encode_sparse(t.size, indices, std::span<const float>(values_).first(indices.size()),
                            options_.message.values, out);
    }

    /// Into `values_`, which the chosen ones may be.
    void round_values(const tensor& t, const kernels::selection& chosen,
                      wire::value_format format) {
        for (std::size_t j = 0; j < chosen.values.size(); ++j) {
            const float value = chosen.values[j];
            if (!detail::kernels::is_finite(value))
                throw error(errc::non_finite, "what has accumulated in tensor '" + t.name +
                                                  "' is not finite: element " +
                                                  std::to_string(chosen.indices[j]));
            values_[j] = detail::wire::clamp_to_format(format, value);
        }
    }

    /// Of a message of so many entries. A selector may choose fewer than the schedule allows: a
    /// threshold does.
    double sparsity(const tensor& t, std::int64_t count) const noexcept {
        const double chosen =
            static_cast<double>(count) / static_cast<double>(std::max<std::int64_t>(t.size, 1));
        return 1.0 - (std::min)(density_, chosen);
    }

    /// At most so many entries of a tensor go in this round.
    std::int64_t entries_now(const tensor& t) const {
        return selector_.entries_max(t, entries_at(density_, t.size));
    }

    std::span<const std::uint32_t> selected(const tensor& t, std::span<const float> values) {
        const auto indices = selector_.select(t, values, entries_at(density_, t.size));
        if (static_cast<std::int64_t>(indices.size()) > entries_now(t))
            throw invalid_option("sparsified: the selector chose " +
                                 std::to_string(indices.size()) + " entries of tensor '" + t.name +
                                 "' where its entries_max allows " +
                                 std::to_string(entries_now(t)));
        return indices;
    }

    using bound_selector = detail::bound_selector_of<Selector>;
    using bound_memory = bound_memory_of<Memory>;

    static constexpr bool steps_at_once = detail::steps_in_one_pass<Selector, Memory>;

    sparsified options_;
    bound_selector selector_;
    bound_memory memory_;
    double densest_;
    double density_;
    int workers_ = 1;             // in the round
    double weight_ = 1.0;         // of a gradient that is encoded
    double packed_weight_ = 1.0;  // of one that is packed
    static constexpr double not_measured = -1.0;
    std::vector<double> squares_;  // of each tensor's gradient in this round
    double model_squares_ = not_measured;
    std::int64_t largest_ = 0;
    std::vector<float> values_;
    std::vector<float> rests_;
    std::vector<std::uint32_t> indices_;
};

}  // namespace sotto
