#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "sotto/core/describe.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/strategies/consensus_report.hpp"
#include "sotto/strategies/detail/gossip/peers_of_gossip.hpp"
#include "sotto/strategies/gossip/mixing/mixing_method.hpp"
#include "sotto/topologies/detail/connected.hpp"
#include "sotto/topologies/mixing_matrix.hpp"
#include "sotto/topologies/spectrum.hpp"
#include "sotto/topologies/topology.hpp"

namespace sotto::detail {

/// A topology as gossip by a method can take it: what cannot be mixed by is refused, where matrices
/// repeat at once, and where each is drawn anew as it is drawn.
///   errors  invalid_option: a matrix that does not keep the mean, or that the method cannot take;
///           rounds that never bring all ranks together; links that weigh otherwise the other way,
///           where ranks may be lost
template <class Options>
class gossip_links {
    using topology_options = std::remove_cvref_t<decltype(std::declval<Options>().topology)>;
    using method = std::remove_cvref_t<decltype(std::declval<Options>().mixing)>;

    static constexpr bool survives = survives_losses<Options>;
    static constexpr bool by_shares = mixing::by_shares<method>;

public:
    /// Binds the topology for so many ranks.
    gossip_links(const Options& options, int size)
        : size_(size),
          name_(sotto::topologies::name_for_logs(options.topology)),
          topology_(options.topology.bind(size)),
          summary_(summarise()) {
        topologies::require_connected(topology_, name_);
        require_eigenvalues();
        if constexpr (mixing::by_copies<method>)
            require_same_links("keeps copies of the same neighbours");
        if constexpr (survives) each_matrix(require_both_ways);
    }

    /// The topology in numbers.
    const topologies::mixing_summary& summary() const noexcept { return summary_; }
    /// After so many rounds matrices repeat; 0: each is drawn anew.
    std::int64_t period() const noexcept { return summary_.period; }

    /// Of a round; valid until the next call.
    const sotto::topologies::mixing_matrix& matrix(std::int64_t round) {
        return topology_.matrix(round);
    }

    /// The same of a round that begins: where each is drawn anew nobody has seen it before.
    const sotto::topologies::mixing_matrix& drawn(std::int64_t round) {
        const sotto::topologies::mixing_matrix& matrix = topology_.matrix(round);
        if (period() > 0) return matrix;
        if constexpr (by_shares)
            matrix.require_column_stochastic(round, name_);
        else
            matrix.require_doubly_stochastic(round, name_);
        if constexpr (survives) require_both_ways(matrix);
        return matrix;
    }

    /// Of a period, or the first where each is drawn anew.
    void each_matrix(auto look) {
        for (std::int64_t round = 0; round < std::max<std::int64_t>(topology_.period(), 1); ++round)
            look(topology_.matrix(round));
    }

    /// Whether some of these give all ranks their mean.
    bool has_mean() {
        bool found = false;
        each_matrix(
            [&](const sotto::topologies::mixing_matrix& matrix) { found |= matrix.is_mean(); });
        return found;
    }

private:
    topologies::mixing_summary summarise() {
        topologies::mixing_summary all{.ranks = size_,
                                       .period = topology_.period(),
                                       .second_singular_value = consensus_report::unknown,
                                       .mean_contraction = consensus_report::unknown};
        if constexpr (by_shares)
            each_matrix([&](const sotto::topologies::mixing_matrix& matrix) {
                matrix.require_column_stochastic(-1, name_);
                all.degree = (std::max)({all.degree, matrix.degree(), matrix.degree_in()});
            });
        else
            all = sotto::topologies::summary_of(topology_, name_);
        return all;
    }

    /// A recursion over steps, or what neighbours know of each other, is of one matrix.
    void require_same_links(const std::string& because) {
        if (period() == 1 || size_ == 1) return;
        const auto name = []<class Policy>(std::type_identity<Policy>) {
            const std::string_view type = local_name<Policy>();
            return std::string(type.substr(0, type.find('<')));
        };
        throw invalid_option("gossip: " + name(std::type_identity<method>{}) + " " + because +
                             ", but " + name(std::type_identity<topology_options>{}) +
                             " has other links from round to round: use one whose rounds are all "
                             "alike, such as topologies::ring{}");
    }

    void require_eigenvalues() {
        if constexpr (requires { method::smallest_eigenvalue; }) {
            require_same_links("corrects each step by where the one before it was mixed to");
            const sotto::topologies::mixing_matrix& matrix = topology_.matrix(0);
            if (!matrix.is_symmetric())
                throw invalid_option(
                    "gossip: this mixing method needs links that weigh the same both ways");
            const double found = sotto::topologies::smallest_eigenvalue(matrix);
            if (found < method::smallest_eigenvalue + 1e-9)
                throw invalid_option("gossip: the mixing matrix has an eigenvalue of " +
                                     std::to_string(found) +
                                     "; this mixing method needs all above " +
                                     std::to_string(method::smallest_eigenvalue) +
                                     ": topologies::lazy{...} raises them");
        }
    }

    static void require_both_ways(const sotto::topologies::mixing_matrix& matrix) {
        if (!matrix.is_symmetric())
            throw invalid_option(
                "gossip: to go on when ranks are lost it needs links that weigh the same both "
                "ways, such as those of topologies::ring{} or torus{}");
    }

    int size_;
    std::string name_;  // of the topology
    topology_state<topology_options> topology_;
    topologies::mixing_summary summary_;
};

}  // namespace sotto::detail
