#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "sotto/collectives/detail/neighbour_exchange.hpp"
#include "sotto/collectives/detail/refuse_mixing.hpp"
#include "sotto/compressors/compressor.hpp"
#include "sotto/compressors/none.hpp"
#include "sotto/core/bytes.hpp"
#include "sotto/core/detail/memory/finite.hpp"
#include "sotto/core/detail/memory/large_pages.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/core/require_option.hpp"
#include "sotto/core/visit.hpp"
#include "sotto/kernels/detail/simd/arithmetic.hpp"
#include "sotto/kernels/detail/simd/reductions.hpp"
#include "sotto/kernels/detail/update/averaging.hpp"
#include "sotto/strategies/detail/codistillation/tensor_messages.hpp"
#include "sotto/strategies/detail/common_epochs.hpp"
#include "sotto/strategies/detail/with_rollback.hpp"
#include "sotto/strategies/detail/stopwatch.hpp"
#include "sotto/strategies/strategy.hpp"
#include "sotto/topologies/random_matching.hpp"
#include "sotto/transports/detail/messaging/blame.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto::detail {

template <class Compressor = none>
class noloco_state;

}  // namespace sotto::detail

namespace sotto {

/// The outer step of NoLoCo, for local_updates{adamw{...}, noloco{}}: in every meeting chance
/// pairs the ranks, and each takes a step by what the two of them have come, drawn to where they
/// met last. In a meeting nobody waits for all.
///   math    from phi_i, with Delta the mean of the pair's ways phi - theta and mean phi that of
///           where they began:  m_i = momentum m_i - rate Delta + pull (mean phi - phi_i),
///           phi_i += m_i
///   shape   ranks' parameters stay apart, and the pull keeps them near each other
///   wire    twice the parameters to one other rank
///   cost    16 bytes a parameter
///   errors  invalid_option: momentum not in [0, 1), rate or pull below 0 or not finite
///   source  Kolehmainen et al. 2025, NoLoCo: No-all-reduce low communication training,
///           arXiv:2506.10911
struct noloco {
    double momentum = 0.5;   // of the outer step
    double rate = 0.7;       // of the outer step
    double pull = 0.7;       // to where the pair began
    std::uint64_t seed = 1;  // of the draws of pairs

    static constexpr bool synchronous = false;
    static constexpr bool in_step = true;

    detail::noloco_state<> bind(const layout& tensors, transport_ref through) const;
    void describe(auto&& field) const {
        field("momentum", momentum);
        field("rate", rate);
        field("pull", pull);
        field("seed", seed);
    }
};

/// The same, but of the way that each has come a compressor's message is sent, such as
/// error_feedback{chunked_top_k{}}: what it leaves out comes in a later meeting. Where the two
/// began goes whole: what changed it could not be told to another rank in every meeting.
///   math    as noloco, with Delta the mean of the pair's two messages
///   wire    for each tensor a message, and the parameters, to one other rank
///   cost    16 bytes a parameter, room for two messages, and the compressor's
///   errors  as noloco; peer_failure of errc::malformed and an error of errc::non_finite,
///           naming the rank whose message it is
template <class Compressor>
struct compressed_pairs {
    static_assert(
        sotto::compressor<Compressor> && !detail::compressing::has_after_sum<state_of<Compressor>>,
        "compressed_pairs: the first policy must be a compressor whose messages are whole by "
        "themselves, such as error_feedback{chunked_top_k{}}: a rank gets only those of its pair");

    Compressor compressor{};  // of the way that each has come
    noloco pairs{};           // how pairs step

    static constexpr bool synchronous = false;
    static constexpr bool in_step = true;

    auto bind(const layout& tensors, transport_ref through) const {
        return detail::noloco_state<Compressor>(pairs, tensors, through, compressor);
    }
    void describe(auto&& field) const {
        field("compressor", compressor);
        field("pairs", pairs);
    }
};

template <class C>
compressed_pairs(C) -> compressed_pairs<C>;
template <class C>
compressed_pairs(C, noloco) -> compressed_pairs<C>;

}  // namespace sotto

namespace sotto::detail {

/// One rank's side of noloco.
template <class Compressor>
class noloco_state {
    static constexpr bool compresses = !std::is_same_v<Compressor, sotto::none>;

public:
    noloco_state(const noloco& options, const layout& tensors, transport_ref through,
                 const Compressor& compressor = {})
        : options_(checked(options)),
          tensors_(tensors),
          through_(through),
          pairs_(sotto::topologies::random_matching{options.seed}.bind(through.size())),
          compressor_(compressor.bind(compresses ? tensors_ : no_tensors_)),
          both_(2 * static_cast<std::size_t>(tensors.size())),
          step_(static_cast<std::size_t>(tensors.size())),
          tensor_bytes_(tensors.tensors().size()),
          epochs_(through),
          exchange_(through, (compresses ? 1 : 2) * tensors.size(), 1),
          messages_(compresses ? tensors_ : no_tensors_, compressor_, 1, 1, through) {
        for (const tensor& t : tensors_) tensor_bytes_[slot(t)] = 2 * 4 * t.size;
    }

    data::share share() const noexcept { return {through_.rank(), through_.size()}; }
    epoch_agreement begin_epoch(const epoch_plan& plan) { return epochs_.begin(plan); }

    template <class Model>
    round_report round(round_input<Model>& job, std::span<float> parameters) {
        return detail::with_rollback(
            through_, [&] { return attempt(job, parameters); },
            [this]() noexcept { compressing::rollback(compressor_); });
    }

    /// Everything to be saved, by name: each rank's own. Not there where something would be left
    /// out.
    template <class Field>
    void visit(Field&& field) requires(compressing::can_be_saved<state_of<Compressor>>) {
        compressing::visit(compressor_, visitor_of_own(field, ""));
        field("step", std::span<float>(step_), kept::own);
        field("round", round_, kept::own);
    }

private:
    static std::size_t slot(const tensor& t) noexcept { return static_cast<std::size_t>(t.index); }

    static const noloco& checked(const noloco& options) {
        require_option("noloco", "momentum", options.momentum, allowed::at_least(0.0).below(1.0));
        require_option("noloco", "rate", options.rate, allowed::at_least(0.0));
        require_option("noloco", "pull", options.pull, allowed::at_least(0.0));
        return options;
    }

    template <class Model>
    round_report attempt(round_input<Model>& job, std::span<float> parameters) {
        const traffic before = through_.counters();
        const time_point began = through_.now();
        stopwatch watch(through_);
        through_.at({.round = job.step, .phase = "meet"});
        const auto way = std::span(both_).first(step_.size());
        const auto met = std::span(both_).last(step_.size());
        round_report report{.examples = job.examples, .dense_bytes = 4 * tensors_.size()};
        report.loss = job.model.gradient(std::span<const float>(parameters), job.batch, way,
                                         [](const tensor&) {});
        if (!detail::kernels::is_finite(kernels::sum_of_squares(way)))
            throw error(errc::non_finite, "rank " + std::to_string(through_.rank()) +
                                              " has come where parameters are not finite");
        std::copy(parameters.begin(), parameters.end(), met.begin());
        report.compute = watch.lap();

        const auto& pairs = pairs_.matrix(round_);
        const auto others = pairs.into(through_.rank());
        if constexpr (compresses) {
            encode(job.epoch, way, others);
            report.compress = watch.lap();
        }
        exchange_.start(compresses ? met : std::span<float>(both_), pairs, label(2));
        exchange_.release(0);
        wait();
        report.wait = report.exchange = watch.lap();

        if constexpr (compresses) decode(way, others);
        step(parameters, way, met);
        compressing::commit(compressor_);
        ++round_;
        epochs_.end_round();
        report.apply = watch.lap();

        const traffic after = through_.counters();
        report.bytes_sent = after.bytes_sent - before.bytes_sent;
        report.bytes_received = after.bytes_received - before.bytes_received;
        for (const std::int64_t size : tensor_bytes_) report.message_bytes += size;
        report.tensor_message_bytes = tensor_bytes_;
        report.began = began;
        report.agreed = report.ended = through_.now() - began;
        return report;
    }

    using pair = std::span<const topologies::neighbour>;

    /// Sends what the compressor makes of the way.
    void encode(double epoch, std::span<const float> way, pair others) {
        compressing::begin_round(
            compressor_, {.step = round_, .epoch = epoch, .rank = through_.rank(), .share = 1.0});
        for (const tensor& t : tensors_)
            compressing::measured(compressor_, t, kernels::sum_of_squares(t.of(way)));
        messages_.begin();
        for (const tensor& t : tensors_) {
            messages_.send(t, label(3 + static_cast<std::uint32_t>(t.index)), others, others,
                           [&](bytes& out) { compressor_.encode(t, t.of(way), out); });
            tensor_bytes_[slot(t)] = std::ssize(messages_.own(t)) + 4 * t.size;
        }
    }

    void wait() {
        while (true) {
            const std::uint64_t seen = through_.activity();
            const bool is_mixed = exchange_.advance();
            if (messages_.advance() && is_mixed) return;
            through_.await(seen);
        }
    }

    /// The way becomes the mean of the pair's messages.
    void decode(std::span<float> way, pair others) {
        std::fill(way.begin(), way.end(), 0.0f);
        for (const tensor& t : tensors_) {
            const auto sum = t.of(way);
            add_own(t, sum);
            if (!others.empty())
                detail::read_from(through_, others.front().rank,
                                  [&] { compressor_.decode_add(t, messages_.from(t, 0), sum); });
            if (const auto i = kernels::first_non_finite(sum); i >= 0) refuse(t, i, sum, others);
        }
        if (!others.empty()) kernels::scale(way, 0.5f);
    }

    void add_own(const tensor& t, std::span<float> sum) {
        detail::read_from(through_, through_.rank(),
                          [&] { compressor_.decode_add(t, messages_.own(t), sum); });
    }

    /// Names the sender of the value that is not finite: this rank, if its message alone has one.
    [[noreturn]] void refuse(const tensor& t, std::int64_t i, std::span<float> sum, pair others) {
        std::fill(sum.begin(), sum.end(), 0.0f);
        add_own(t, sum);
        const auto own = kernels::first_non_finite(sum);
        collectives::refuse_mixing(
            own >= 0 || others.empty() ? through_.rank() : others.front().rank,
            "tensor '" + t.name + "', element " + std::to_string(own >= 0 ? own : i));
    }

    tag label(std::uint32_t which) const noexcept {
        return {channels::gossip, which, static_cast<std::uint64_t>(round_)};
    }

    void step(std::span<float> parameters, std::span<const float> way,
              std::span<const float> met) noexcept {
        const auto pull = static_cast<float>(options_.pull);
        kernels::average(
            static_cast<float>(options_.momentum), step_,
            std::array{kernels::weighted_values{-static_cast<float>(options_.rate), way},
                       kernels::weighted_values{pull, met},
                       kernels::weighted_values{-pull, parameters}});
        kernels::average(1.0f, parameters, std::array{kernels::weighted_values{1.0f, step_}});
    }

    noloco options_;
    layout tensors_, no_tensors_;
    transport_ref through_;
    sotto::topologies::random_matching::state pairs_;
    state_of<Compressor> compressor_;
    large_vector<float> both_;  // the pair's mean way, and where it began
    large_vector<float> step_;  // m
    std::vector<std::int64_t> tensor_bytes_;
    common_epochs epochs_;
    std::int64_t round_ = 0;
    // Last: transfers end before the memory goes.
    collectives::neighbour_exchange exchange_;
    tensor_messages messages_;
};

}  // namespace sotto::detail

namespace sotto {

inline detail::noloco_state<> noloco::bind(const layout& tensors, transport_ref through) const {
    return detail::noloco_state<>(*this, tensors, through);
}

}  // namespace sotto
