#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sotto/collectives/neighbour_exchange.hpp"
#include "sotto/collectives/operation.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/large_pages.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/kernels/averaging.hpp"
#include "sotto/kernels/reductions.hpp"
#include "sotto/strategies/common_epochs.hpp"
#include "sotto/strategies/stopwatch.hpp"
#include "sotto/strategies/strategy.hpp"
#include "sotto/topologies/random_matching.hpp"
#include "sotto/transports/transport.hpp"

namespace sotto {

template <class Transport>
class random_pairs_state;

/// The outer step of NoLoCo, for local_updates{adamw{...}, random_pairs{}}: in every meeting chance
/// pairs the ranks, and each takes a step by what the two of them have come, drawn to where they
/// met last. Nobody ever waits for all.
///   math    from phi_i, with Delta the mean of the pair's ways phi - theta and mean phi that of
///           where they began:  m_i = momentum m_i - rate Delta + pull (mean phi - phi_i),
///           phi_i += m_i
///   shape   ranks' parameters stay apart, and the pull keeps them near each other
///   wire    twice the parameters to one other rank
///   cost    16 bytes a parameter
///   errors  invalid_option: momentum not in [0, 1), rate or pull below 0
///   source  Kolehmainen et al. 2025, NoLoCo: No-all-reduce low communication training,
///           arXiv:2506.10911
struct random_pairs {
    double momentum = 0.5;
    double rate = 0.7;
    double pull = 0.7;
    std::uint64_t seed = 1;

    static constexpr bool synchronous = false;
    static constexpr bool in_step = true;

    template <transport Transport>
    auto bind(const layout& tensors, Transport& through) const {
        return random_pairs_state<Transport>(*this, tensors, through);
    }
    void describe(auto&& field) const {
        field("momentum", momentum);
        field("rate", rate);
        field("pull", pull);
        field("seed", seed);
    }
};

template <class Transport>
class random_pairs_state {
public:
    random_pairs_state(const random_pairs& options, const layout& tensors, Transport& through)
        : options_(checked(options)),
          tensors_(tensors),
          through_(&through),
          pairs_(topologies::random_matching{options.seed}.bind(through.size())),
          both_(2 * static_cast<std::size_t>(tensors.size())),
          step_(static_cast<std::size_t>(tensors.size())),
          tensor_bytes_(tensors.tensors().size()),
          epochs_(through),
          exchange_(through, 2 * tensors.size(), 1) {
        for (const tensor& t : tensors_)
            tensor_bytes_[static_cast<std::size_t>(t.index)] = 2 * 4 * t.size;
    }

    data::share share() const noexcept { return {through_->rank(), through_->size()}; }
    epoch_agreement begin_epoch(const epoch_plan& plan) { return epochs_.begin(plan); }

    template <class Model>
    round_report round(task<Model>& job, std::span<float> parameters) {
        try {
            return attempt(job, parameters);
        } catch (const peer_failure&) {
            throw;
        } catch (const std::exception& e) {
            if (through_->size() > 1) through_->fail(e.what());
            throw;
        }
    }

private:
    static const random_pairs& checked(const random_pairs& options) {
        if (!(options.momentum >= 0.0 && options.momentum < 1.0))
            throw invalid_option("random_pairs: momentum is " + std::to_string(options.momentum) +
                                 "; it must be at least 0 and below 1");
        for (const auto& [name, value] :
             {std::pair("rate", options.rate), std::pair("pull", options.pull)})
            if (!(value >= 0.0))
                throw invalid_option("random_pairs: " + std::string(name) + " is " +
                                     std::to_string(value) + "; it must be at least 0");
        return options;
    }

    template <class Model>
    round_report attempt(task<Model>& job, std::span<float> parameters) {
        const traffic before = through_->counters();
        const time_point began = through_->now();
        stopwatch<Transport> watch(*through_);
        through_->at({.round = job.step, .phase = "meet"});
        const auto way = std::span(both_).first(step_.size());
        const auto met = std::span(both_).last(step_.size());
        round_report report{.examples = job.examples, .dense_bytes = 4 * tensors_.size()};
        report.loss = job.model.gradient(std::span<const float>(parameters), job.batch, way,
                                         [](const tensor&) {});
        if (!kernels::is_finite(kernels::sum_of_squares(way)))
            throw error(errc::non_finite, "rank " + std::to_string(through_->rank()) +
                                              " has come where parameters are not finite");
        std::copy(parameters.begin(), parameters.end(), met.begin());
        report.compute = watch.lap();

        exchange_.start(both_, pairs_.matrix(round_),
                        {channels::gossip, 2, static_cast<std::uint64_t>(round_)});
        exchange_.release(0);
        collectives::run(*through_, exchange_);
        report.wait = report.exchange = watch.lap();

        step(parameters, way, met);
        ++round_;
        epochs_.end_round();
        report.apply = watch.lap();

        const traffic after = through_->counters();
        report.bytes_sent = after.bytes_sent - before.bytes_sent;
        report.bytes_received = after.bytes_received - before.bytes_received;
        report.message_bytes = 2 * report.dense_bytes;
        report.tensor_message_bytes = tensor_bytes_;
        report.began = began;
        report.agreed = report.ended = through_->now() - began;
        return report;
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

    random_pairs options_;
    layout tensors_;
    Transport* through_;
    topologies::random_matching::state pairs_;
    large_vector<float> both_;  // the pair's mean way, and where it began
    large_vector<float> step_;  // m
    std::vector<std::int64_t> tensor_bytes_;
    common_epochs<Transport> epochs_;
    std::int64_t round_ = 0;
    collectives::neighbour_exchange<Transport> exchange_;
};

}  // namespace sotto
