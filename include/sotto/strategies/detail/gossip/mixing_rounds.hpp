#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "sotto/collectives/all_reduce.hpp"
#include "sotto/collectives/detail/neighbour_exchange.hpp"
#include "sotto/compressors/compressor.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/core/round_info.hpp"
#include "sotto/kernels/detail/simd/arithmetic.hpp"
#include "sotto/strategies/consensus_report.hpp"
#include "sotto/strategies/detail/gossip/copy_exchange.hpp"
#include "sotto/strategies/detail/gossip/gossip_links.hpp"
#include "sotto/strategies/detail/gossip/peers_of_gossip.hpp"
#include "sotto/strategies/gossip/control/consensus_controller.hpp"
#include "sotto/strategies/gossip/mixing/mixing_method.hpp"
#include "sotto/topologies/detail/live_weight.hpp"
#include "sotto/topologies/mixing_matrix.hpp"
#include "sotto/topologies/spectrum.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto::detail {

/// Rounds of mixing as one rank takes part in them: with its neighbours, or by the mean of all, or
/// by copies, and with a companion of the parameters where the method has one. One round at a time:
/// `begin`, `release` as values become what is to be mixed, `release_all`, `advance` until it holds
/// and `end`. Where ranks may come and go, a round mixes with those neighbours that take part in
/// it, once all are known; else alike.
template <class Options>
class mixing_rounds {
    using peers = typename peers_of_gossip<Options>::type;
    using compressor_options = std::remove_cvref_t<decltype(std::declval<Options>().compressor)>;
    using method = std::remove_cvref_t<decltype(std::declval<Options>().mixing)>;
    using method_state = mixing_state<method>;

    static constexpr bool survives = survives_losses<Options>;
    static constexpr bool by_shares = mixing::by_shares<method>;
    static constexpr bool by_copies = mixing::by_copies<method>;
    static constexpr bool has_companion = mixing::has_companion<method_state>;
    static constexpr bool wants_means = requires(const method_state& s) { s.wants_mean(); };
    static constexpr bool control_takes_means =
        controlling::takes_means<std::remove_cvref_t<decltype(std::declval<Options>().control)>>;

public:
    /// Whether a checkpoint has all that its compressor remembers.
    static constexpr bool can_be_saved =
        !by_copies || compressing::can_be_saved<state_of<compressor_options>>;

    /// `size`: of what is mixed, the parameters and what goes with them.
    ///   errors  invalid_option, as gossip_links. So does `begin`, of a matrix that is drawn anew
    mixing_rounds(const Options& options, const layout& tensors, std::int64_t size,
                  transport_ref through, peers& with)
        : tensors_(tensors),
          through_(through),
          peers_(&with),
          size_(size),
          links_(options, through.size()),
          live_(survives ? through.size() : 1),
          compressor_(options.compressor.bind(by_copies ? tensors : layout{})),
          bytes_(tensors.tensors().size()),
          has_means_(!survives && links_.has_mean()),
          takes_means_(!survives && (wants_means || control_takes_means || has_means_)),
          exchange_(
              through, by_copies ? 0 : size, summary().degree,
              by_shares ? collectives::mixing_by::shares : collectives::mixing_by::differences),
          sum_(through, takes_means_ ? size : 0) {
        for (const tensor& t : tensors_) places_.push_back(t.offset);
        if constexpr (survives) meet_neighbours();
        if constexpr (has_companion) companions_.emplace(through, size, summary().degree);
        if constexpr (by_copies) {
            step_of_copies_ = options.mixing.step;
            copies_.emplace(tensors_, compressor_, links_.matrix(0), through);
        }
    }

    /// The topology in numbers.
    const topologies::mixing_summary& summary() const noexcept { return links_.summary(); }
    /// Of a round, by its number since the beginning.
    const sotto::topologies::mixing_matrix& matrix(std::int64_t round) {
        return links_.matrix(round);
    }
    /// Rounds that are done, from the beginning on.
    std::uint64_t done() const noexcept { return done_; }

    /// What a round leaves at most of how far ranks are apart; not a number where that is not
    /// known: by copies it is more than the matrix leaves, by a factor that the messages decide.
    double second_singular_value() const noexcept {
        return by_copies ? consensus_report::unknown : summary().second_singular_value;
    }

    /// A step begins; nothing of any tensor was sent in it yet. All of its rounds may be exact
    /// means.
    void begin_step(const round_info& where, bool by_mean) {
        asks_mean_ = by_mean;
        done_before_ = done_;
        std::fill(bytes_.begin(), bytes_.end(), 0);
        where_ = where;
    }

    /// `values` are mixed once they are released, in place.
    void begin(std::span<float> values, method_state& by) {
        values_ = values;
        by_ = &by;
        is_released_ = false;
        if constexpr (survives) {
            is_started_ = false;
            released_ = std::ssize(values);
            peers_->begin_round(links_.drawn(number_of(peers_->next_round())));
            start_if_known();
            return;
        }
        const auto number = static_cast<std::int64_t>(done_);
        const auto& matrix = links_.drawn(number);
        has_links_ = matrix.degree_in() > 0;
        is_mean_ = asks_mean_ || sotto::mixing::wants_mean(by) ||
                   (!by_copies && takes_means_ && matrix.is_mean());
        if constexpr (by_copies) {
            copies_->settle(compressor_);  // the round before
            compressing::begin_round(
                compressor_,
                {.step = number, .epoch = where_.epoch, .rank = where_.rank, .share = 1.0});
        } else if (!is_mean_) {
            exchange_.start(
                values_, matrix, label(0), [](int) { return true; }, places_);
        }
    }

    /// From this place on.
    void release(std::int64_t from) {
        released_ = from;
        if (!by_copies && !is_mean_ && is_started_) exchange_.release(from);
    }

    /// All values are what is to be mixed.
    void release_all() {
        is_released_ = true;
        if (is_mean_) {
            sum_.start(values_, label(0));
        } else if constexpr (by_copies) {
            change_ = std::sqrt(copies_->start(compressor_, values_, step_of_copies_, done_));
        } else {
            release(0);
        }
        if constexpr (has_companion) {
            companions_->start(by_->companion(), links_.matrix(static_cast<std::int64_t>(done_)),
                               label(1));
            companions_->release(0);
        }
    }

    /// Whether the round is complete.
    bool advance() {
        bool all = is_released_;
        if constexpr (survives) {
            start_if_known();
            if (!is_started_) return false;
            for (const int rank : peers_->went()) exchange_.lose(rank);
        }
        if (is_mean_) {
            if (is_released_) all = sum_.advance();
        } else if constexpr (by_copies) {
            if (is_released_) all = copies_->advance();
        } else {
            all = exchange_.advance() && all;
        }
        if constexpr (has_companion)
            if (is_released_) all = companions_->advance() && all;
        return all;
    }

    /// After a round that is complete.
    void end() {
        ++done_;
        if (is_mean_) {
            kernels::scale(values_, 1.0f / static_cast<float>(through_.size()));
            change_ = consensus_report::unknown;
        } else if constexpr (by_copies) {
            copies_->check(compressor_);
        } else {
            change_ = std::sqrt(exchange_.squared_change());
        }
        for (const tensor& t : tensors_) bytes_[static_cast<std::size_t>(t.index)] += sent_of(t);
    }

    /// Whether the last round gave all ranks their mean.
    bool is_mean() const noexcept { return is_mean_; }
    /// Whether its changes say how far ranks were apart before it: those towards neighbours' own
    /// parameters do, where ranks may come and go of a rank that had a neighbour in all of it.
    bool estimates() const noexcept {
        if (by_copies || is_mean_) return false;
        return survives ? exchange_.mixes() : has_links_;
    }
    /// By how much the last round moved the parameters; not a number where it was their mean.
    double change() const noexcept { return change_; }
    /// The same of each tensor, squared, where neighbours mixed.
    std::span<const double> squared_changes() const noexcept {
        if (by_copies || is_mean_) return {};
        return exchange_.squared_changes();
    }
    /// Whether a rank has had a part in all of the last round, where neighbours mixed.
    bool mixed_with(int rank) const noexcept { return exchange_.mixes_with(rank); }
    /// Where that was, where ranks may come and go.
    wire::gossip_place place() const noexcept requires survives { return peers_->place(); }
    /// What a rank with so many links sends in a round; 0: not as much in each. Where all rounds
    /// are means of all it is an all-reduce.
    std::int64_t bytes_a_round(int degree) const noexcept {
        const bool is_mean = summary().period == 1 && has_means_;
        if (by_copies || wants_means || control_takes_means || (has_means_ && !is_mean)) return 0;
        const std::int64_t n = through_.size(), mixed = 4 * size_ * degree;
        return (is_mean ? 8 * size_ * (n - 1) / n : mixed) + (has_companion ? mixed : 0);
    }
    /// Of each tensor, sent to one neighbour in this step.
    std::span<const std::int64_t> bytes() const noexcept { return bytes_; }

    /// The step took place: what it remembers stays.
    void commit() noexcept {
        if constexpr (by_copies) copies_->commit(compressor_);
        compressing::commit(compressor_);
        done_before_.reset();
    }
    /// It did not: what it remembers is as before.
    void rollback() noexcept {
        if constexpr (by_copies) copies_->rollback();
        compressing::rollback(compressor_);
        if (done_before_) done_ = *std::exchange(done_before_, std::nullopt);
    }
    void visit(auto&& field) {
        field("rounds", reinterpret_cast<std::int64_t&>(done_));
        if constexpr (by_copies) {
            compressing::visit(compressor_, field);
            copies_->visit(field);
        }
    }

private:
    /// Whoever any round may mix with.
    void meet_neighbours() {
        exchange_.tolerate();
        const bool any = links_.period() < 1;
        for (int rank = 0; any && rank < through_.size(); ++rank) peers_->may_meet(rank);
        links_.each_matrix([&](const sotto::topologies::mixing_matrix& matrix) {
            for (const auto& n : matrix.into(through_.rank())) peers_->may_meet(n.rank);
        });
    }

    /// Rounds of one number have one matrix, on all ranks. Where matrices are drawn anew no two
    /// rounds have one number; a period is gone through from each step's place in it on.
    std::int64_t number_of(const wire::gossip_place& place) const noexcept {
        const std::int64_t later = std::int64_t{place.round} - 1;
        return static_cast<std::int64_t>(place.step) + (links_.period() < 1 ? later << 32 : later);
    }

    /// This rank's links that are there, with what they weigh then.
    const sotto::topologies::mixing_matrix& live(const sotto::topologies::mixing_matrix& whole) {
        const int own = through_.rank();
        live_.clear();
        for (const auto& n : whole.into(own))
            if (peers_->takes_part(n.rank))
                live_.link_both(own, n.rank,
                                topologies::live_weight(whole, own, n.rank, peers_->links_of(own),
                                                        peers_->links_of(n.rank)));
        return live_;
    }

    void start_if_known() {
        if (is_started_ || !peers_->knows_all()) return;
        is_started_ = true;
        const wire::gossip_place place = peers_->place();
        exchange_.start(
            values_, live(links_.matrix(number_of(place))),
            {channels::gossip, 0, place.step << 16 | (place.round & 0xffff)},
            [](int) { return true; }, places_);
        exchange_.release(released_);
    }

    std::int64_t sent_of(const tensor& t) const noexcept {
        if constexpr (by_copies)
            if (!is_mean_) return copies_->message_bytes(t);
        return 4 * t.size * (has_companion ? 2 : 1);
    }

    tag label(std::uint32_t which) const noexcept { return {channels::gossip, which, done_}; }

    const layout& tensors_;
    transport_ref through_;
    peers* peers_;
    std::int64_t size_;  // of what is mixed
    gossip_links<Options> links_;
    sotto::topologies::mixing_matrix live_;
    state_of<compressor_options> compressor_;
    std::vector<std::int64_t> places_;  // where tensors begin
    std::vector<std::int64_t> bytes_;
    bool has_means_ = false;  // some of a period's rounds give all their mean
    bool takes_means_ = false;
    double step_of_copies_ = 1.0;
    round_info where_;  // of the step
    std::span<float> values_;
    method_state* by_ = nullptr;
    std::uint64_t done_ = 0;                    // rounds
    std::optional<std::uint64_t> done_before_;  // in a step: those before it
    double change_ = consensus_report::unknown;
    bool asks_mean_ = false, is_mean_ = false, is_released_ = false;
    bool has_links_ = false;  // any rank, in this round
    bool is_started_ = true;  // not while it is unknown who takes part
    std::int64_t released_ = 0;
    // Last: transfers end before the memory goes.
    collectives::neighbour_exchange exchange_;
    collectives::all_reduce sum_;
    std::optional<collectives::neighbour_exchange> companions_;
    std::optional<copy_exchange<compressor_options>> copies_;
};

}  // namespace sotto::detail
