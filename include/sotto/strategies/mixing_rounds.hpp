#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "sotto/collectives/all_reduce.hpp"
#include "sotto/collectives/neighbour_exchange.hpp"
#include "sotto/compressors/compressor.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/kernels/arithmetic.hpp"
#include "sotto/mixing/mixing_method.hpp"
#include "sotto/strategies/consensus_report.hpp"
#include "sotto/strategies/copy_exchange.hpp"
#include "sotto/topologies/spectrum.hpp"
#include "sotto/topologies/topology.hpp"
#include "sotto/transports/transport.hpp"

namespace sotto {

/// Rounds of mixing as one rank takes part in them: with its neighbours, or by the mean of all, or
/// by copies, and with a companion of the parameters where the method has one. One round at a time:
/// `begin`, `release` as values become what is to be mixed, `release_all`, `advance` until it holds
/// and `end`.
template <class Options, class Transport>
class mixing_rounds {
    using topology_options = std::remove_cvref_t<decltype(std::declval<Options>().topology)>;
    using compressor_options = std::remove_cvref_t<decltype(std::declval<Options>().compressor)>;
    using method = std::remove_cvref_t<decltype(std::declval<Options>().mixing)>;
    using method_state = mixing_state<method>;

    static constexpr bool by_shares = mixing::by_shares<method>;
    static constexpr bool by_copies = mixing::by_copies<method>;
    static constexpr bool has_companion = mixing::has_companion<method_state>;
    static constexpr bool wants_means = requires(const method_state& s) { s.wants_mean(); };

public:
    /// `size`: of what is mixed, the parameters and what goes with them.
    ///   errors  invalid_option: a mixing matrix that does not keep the mean, or that the method
    ///           cannot take
    mixing_rounds(const Options& options, const layout& tensors, std::int64_t size,
                  Transport& through)
        : tensors_(tensors),
          through_(&through),
          topology_(options.topology.bind(through.size())),
          summary_(summarise()),
          compressor_(options.compressor.bind(by_copies ? tensors : layout{})),
          bytes_(tensors.tensors().size()),
          exchange_(
              through, by_copies ? 0 : size, summary_.degree,
              by_shares ? collectives::mixing_by::shares : collectives::mixing_by::differences),
          sum_(through, wants_means || has_mean() ? size : 0) {
        for (const tensor& t : tensors_) places_.push_back(t.offset);
        require_eigenvalues();
        if constexpr (has_companion) companions_.emplace(through, size, summary_.degree);
        if constexpr (by_copies) {
            if (topology_.period() != 1)
                throw invalid_option(
                    "gossip: mixing::choco keeps copies of the same neighbours, but this topology "
                    "has other ones from round to round");
            step_of_copies_ = options.mixing.step;
            copies_.emplace(tensors_, compressor_, topology_.matrix(0), through);
        }
    }

    const topologies::mixing_summary& summary() const noexcept { return summary_; }
    const topologies::mixing_matrix& matrix(std::int64_t round) { return topology_.matrix(round); }
    /// Rounds that are done, from the beginning on.
    std::uint64_t done() const noexcept { return done_; }

    /// A step begins, with this many bytes of no tensor sent.
    void begin_step(const round_info& where) {
        std::fill(bytes_.begin(), bytes_.end(), 0);
        compressing::begin_round(compressor_, {.step = static_cast<std::int64_t>(done_),
                                               .epoch = where.epoch,
                                               .rank = where.rank,
                                               .share = 1.0});
    }

    /// `values` are mixed once they are released, in place.
    void begin(std::span<float> values, method_state& by) {
        values_ = values;
        by_ = &by;
        is_released_ = false;
        const auto& matrix = topology_.matrix(static_cast<std::int64_t>(done_));
        is_mean_ = mixing::wants_mean(by) || (!by_copies && matrix.is_mean());
        if constexpr (!by_copies)
            if (!is_mean_)
                exchange_.start(
                    values_, matrix, label(0), [](int) { return true; }, places_);
    }

    /// From this place on.
    void release(std::int64_t from) {
        if (!by_copies && !is_mean_) exchange_.release(from);
    }

    void release_all() {
        is_released_ = true;
        if (is_mean_) {
            sum_.start(values_, label(0));
        } else if constexpr (by_copies) {
            change_ = std::sqrt(copies_->start(compressor_, values_, step_of_copies_, done_));
        } else {
            exchange_.release(0);
        }
        if constexpr (has_companion) {
            companions_->start(by_->companion(), topology_.matrix(static_cast<std::int64_t>(done_)),
                               label(1));
            companions_->release(0);
        }
    }

    bool advance() {
        bool all = is_released_;
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

    void end() {
        ++done_;
        if (is_mean_) {
            kernels::scale(values_, 1.0f / static_cast<float>(through_->size()));
            change_ = consensus_report::unknown;
        } else if constexpr (by_copies) {
            copies_->settle(compressor_);
        } else {
            change_ = std::sqrt(exchange_.squared_change());
        }
        for (const tensor& t : tensors_) bytes_[static_cast<std::size_t>(t.index)] += sent_of(t);
    }

    /// By how much the last round moved the values; not a number where it was their mean.
    double change() const noexcept { return change_; }
    /// The same of each tensor, squared, where neighbours mixed.
    std::span<const double> squared_changes() const noexcept {
        if (by_copies || is_mean_) return {};
        return exchange_.squared_changes();
    }
    /// Of each tensor, sent to one neighbour in this step.
    std::span<const std::int64_t> bytes() const noexcept { return bytes_; }

    void commit() noexcept { compressing::commit(compressor_); }
    void rollback() noexcept { compressing::rollback(compressor_); }

private:
    topologies::mixing_summary summarise() {
        if constexpr (!by_shares) return topologies::summary_of(topology_);
        topologies::mixing_summary all{.ranks = through_->size(),
                                       .period = topology_.period(),
                                       .second_singular_value = consensus_report::unknown};
        each_matrix([&](const topologies::mixing_matrix& matrix) {
            matrix.require_column_stochastic();
            all.degree = std::max({all.degree, matrix.degree(), matrix.degree_in()});
        });
        return all;
    }

    void require_eigenvalues() {
        if constexpr (requires { method::smallest_eigenvalue; })
            each_matrix([](const topologies::mixing_matrix& matrix) {
                if (!matrix.is_symmetric())
                    throw invalid_option(
                        "gossip: this mixing method needs links that weigh the same both ways");
                const double found = topologies::smallest_eigenvalue(matrix);
                if (found < method::smallest_eigenvalue + 1e-9)
                    throw invalid_option("gossip: the mixing matrix has an eigenvalue of " +
                                         std::to_string(found) +
                                         "; this mixing method needs all above " +
                                         std::to_string(method::smallest_eigenvalue) +
                                         ": topologies::lazy{...} raises them");
            });
    }

    bool has_mean() {
        bool found = false;
        each_matrix([&](const topologies::mixing_matrix& matrix) { found |= matrix.is_mean(); });
        return found;
    }

    /// Of a period, or the first where each is drawn anew.
    void each_matrix(auto look) {
        for (std::int64_t round = 0; round < std::max<std::int64_t>(topology_.period(), 1); ++round)
            look(topology_.matrix(round));
    }

    std::int64_t sent_of(const tensor& t) const noexcept {
        if constexpr (by_copies)
            if (!is_mean_) return copies_->message_bytes(t);
        return 4 * t.size;
    }

    tag label(std::uint32_t which) const noexcept { return {channels::gossip, which, done_}; }

    const layout& tensors_;
    Transport* through_;
    topology_state<topology_options> topology_;
    topologies::mixing_summary summary_;
    state_of<compressor_options> compressor_;
    std::vector<std::int64_t> places_;  // where tensors begin
    std::vector<std::int64_t> bytes_;
    double step_of_copies_ = 1.0;
    std::span<float> values_;
    method_state* by_ = nullptr;
    std::uint64_t done_ = 0;
    double change_ = consensus_report::unknown;
    bool is_mean_ = false, is_released_ = false;
    // Last: transfers end before the memory goes.
    collectives::neighbour_exchange<Transport> exchange_;
    collectives::all_reduce<Transport> sum_;
    std::optional<collectives::neighbour_exchange<Transport>> companions_;
    std::optional<copy_exchange<compressor_options, Transport>> copies_;
};

}  // namespace sotto
