#pragma once

#include <cstdint>
#include <string>

#include "sotto/core/require_option.hpp"
#include "sotto/topologies/topology.hpp"

namespace sotto::topologies {

/// Another topology with smaller link weights and larger own weights: (1 - share) I + share W.
/// `lazy{.inner, .share = 0.5}` has no eigenvalue below 0, which some methods need.
///   errors  invalid_option: a share outside (0, 1]
template <topology Inner>
struct lazy {
    Inner inner{};       // the topology W
    double share = 0.5;  // weight of W, in (0, 1]

    class state;
    state bind(int size) const {
        require_option("topologies::lazy", "share", share,
                       detail::allowed::above(0.0).at_most(1.0));
        return {*this, size};
    }
    /// Returns the inner topology's name after "lazy ".
    std::string name() const { return "lazy " + name_for_logs(inner); }
    void describe(auto&& field) const {
        field("inner", inner);
        field("share", share);
    }
};

template <topology Inner>
lazy(Inner) -> lazy<Inner>;
template <topology Inner>
lazy(Inner, double) -> lazy<Inner>;

template <topology Inner>
class lazy<Inner>::state {
public:
    state(const lazy& options, int size)
        : inner_(options.inner.bind(size)), share_(options.share), matrix_(size) {
        weaken(0);
    }

    const mixing_matrix& matrix(std::int64_t round) {
        const std::int64_t period = inner_.period();
        if (period > 0 ? round % period != round_ % period : round != round_) weaken(round);
        return matrix_;
    }
    std::int64_t period() const { return inner_.period(); }
    /// An upper bound, by the triangle inequality.
    double mean_contraction()
        const requires detail::topologies::tells_mean_contraction<topology_state<Inner>> {
        return 1.0 - share_ + share_ * inner_.mean_contraction();
    }

private:
    void weaken(std::int64_t round) {
        round_ = round;
        const mixing_matrix& whole = inner_.matrix(round);
        matrix_.clear();
        for (int rank = 0; rank < whole.size(); ++rank)
            for (const detail::topologies::neighbour& n : whole.into(rank))
                matrix_.link(rank, n.rank, share_ * n.weight);
    }

    topology_state<Inner> inner_;
    double share_;
    mixing_matrix matrix_;
    std::int64_t round_ = 0;
};

}  // namespace sotto::topologies
