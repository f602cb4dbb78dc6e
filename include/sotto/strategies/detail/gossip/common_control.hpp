#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include "sotto/collectives/all_reduce.hpp"
#include "sotto/collectives/detail/operation.hpp"
#include "sotto/core/round_info.hpp"
#include "sotto/optimizers/optimizer.hpp"
#include "sotto/strategies/consensus_report.hpp"
#include "sotto/strategies/detail/gossip/mixing_rounds.hpp"
#include "sotto/strategies/detail/gossip/peers_of_gossip.hpp"
#include "sotto/strategies/gossip/control/consensus_controller.hpp"
#include "sotto/strategies/gossip/control/fixed_rounds.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto::detail {

/// One rank's controller of gossip, which all ranks ask alike: it is told of distances that they
/// find together. Where ranks may come and go, one of them decides for all.
///   wire    where it wants to know of distances, an all-reduce of 12 bytes each round, or a word
///           of each rank to one of them and back
template <class Options>
class common_control {
    using options_type = std::remove_cvref_t<decltype(std::declval<Options>().control)>;
    using peers = typename peers_of_gossip<Options>::type;

    static constexpr bool survives = survives_losses<Options>;

public:
    /// Whether a checkpoint has all that it remembers.
    static constexpr bool can_be_saved = controlling::can_be_saved<controller_state<options_type>>;
    /// Whether the controller may ask for exact distances.
    static constexpr bool measures_exactly = controlling::measures_exactly<options_type>;

    /// Borrows the transport and the peers.
    common_control(const Options& options, transport_ref through, peers& with)
        : through_(through), peers_(&with), state_(options.control.bind()), sums_(through, 3) {
        if constexpr (survives && !std::is_same_v<options_type, no_control> &&
                      !std::is_same_v<options_type, fixed_rounds>)
            peers_->will_sum();
    }

    /// `rounds`: steps of this rank in the epoch that begins.
    void begin_epoch(std::int64_t rounds) noexcept {
        pace_ = 1.0 / static_cast<double>(std::max<std::int64_t>(rounds, 1));
    }

    /// Before the rounds of a step.
    void begin_step(const round_info& where, const auto& optimizer) {
        asked_ = where;
        if constexpr (survives) asked_ = peers_->begin_step(where, pace_);
        rate_ = optimizing::rate_at(optimizer, asked_);
        if constexpr (survives)
            next_rate_ = optimizing::rate_at(optimizer, peers_->next_step(asked_, 1));
    }

    /// Whether all rounds of the step are exact means.
    bool wants_mean() const { return controlling::wants_mean(state_, asked_); }

    /// Whether the step has any.
    bool wants_one() {
        if constexpr (survives)
            if (const auto told = peers_->is_to_mix()) return *told;
        return controlling::wants_one(state_, asked_, rate_);
    }

    /// Whether there is to be another after the last one, the `found.rounds`th of the step.
    ///   squares   of this rank's gradient; nothing where it had no data
    ///   measure   tells the exact distance, where it is asked for
    template <class Measure>
    bool wants_another(const mixing_rounds<Options>& mixing, std::optional<double> squares,
                       consensus_report& found, Measure measure) {
        consensus_reading now{.where = asked_,
                              .learning_rate = rate_,
                              .rounds = static_cast<int>(found.rounds),
                              .distance = consensus_report::unknown,
                              .is_mean = mixing.is_mean(),
                              .second_singular_value = mixing.second_singular_value(),
                              .period = mixing.summary().period};
        found.estimate = consensus_report::unknown;
        const consensus_reading::measure needed = state_.needs(asked_);
        if constexpr (survives) {
            if (needed == consensus_reading::measure::nothing && !peers_->agrees())
                return ask(now, found);
            const bool tells = mixing.estimates();
            const double change = tells ? mixing.change() : 0.0;
            // Who sums up decides for all; the others' controllers hear of it as well.
            return peers_
                ->sum({change * change, squares.value_or(0.0), tells, squares ? 1u : 0u},
                      [&](round_verdict& all) {
                          if (all.sums.tells) found.estimate = root(all.sums.change, all.ranks);
                          tell(now, found, root(all.sums.gradient, all.sums.gradients));
                          all.another = ask(now, found);
                          all.skips_next = !controlling::wants_one(
                              state_, peers_->next_step(asked_, 1), next_rate_);
                      })
                .another;
        } else {
            if (needed != consensus_reading::measure::nothing) {
                const double change = mixing.estimates() ? mixing.change() : 0.0;
                values_ = {static_cast<float>(change * change),
                           static_cast<float>(squares.value_or(0.0)), squares ? 1.0f : 0.0f};
                sums_.start(values_, {channels::gossip, 1u << 29, mixing.done()});
                collectives::run(through_, sums_);
                if (mixing.estimates()) found.estimate = root(values_[0], through_.size());
                tell(now, found, root(values_[1], values_[2]));
            }
            if (needed == consensus_reading::measure::exact) now.distance = measure();
            return ask(now, found);
        }
    }

    void visit(auto&& field) { controlling::visit(state_, field); }

private:
    /// Of the mean over so many ranks.
    static double root(double sum_of_squares, auto ranks) noexcept {
        return std::sqrt(sum_of_squares / (std::max)(static_cast<double>(ranks), 1.0));
    }

    bool ask(const consensus_reading& now, consensus_report& found) {
        found.target = controlling::target(state_, now);
        const bool wants = state_.wants_another(now);
        found.missed = !wants && controlling::misses(state_, now);
        return wants;
    }

    static void tell(consensus_reading& now, consensus_report& found, double gradient_norm) {
        now.distance = found.estimate;
        found.gradient_norm = now.gradient_norm = gradient_norm;
    }

    transport_ref through_;
    peers* peers_;
    controller_state<options_type> state_;
    round_info asked_;                     // of the step; where ranks may come and go, alike on all
    double rate_ = 0.0, next_rate_ = 0.0;  // of this step, and of the next
    double pace_ = 0.0;                    // epochs a step
    std::array<float, 3> values_{};
    collectives::all_reduce sums_;
};

}  // namespace sotto::detail
