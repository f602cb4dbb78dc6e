#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "sotto/core/random.hpp"
#include "sotto/topologies/topology.hpp"

namespace sotto::topologies {

/// In every round ranks are paired anew by chance, the same on all of them, and each pair takes its
/// mean. Where their number is odd one is alone.
///   math    weights 1/2;  a round leaves of the square of the distance to the mean, in expectation
///           and in any direction, (n - 2) / (2 (n - 1)) for even n and 1/2 for odd: about half,
///           whatever n. mean_contraction is the root of that
///   cost    1 link a rank and round; matrix(round) O(n), no allocation
///   source  Boyd et al. 2006, Randomized gossip algorithms
struct random_matching {
    std::uint64_t seed = 1;  // of the draws, alike on all ranks

    class state;
    state bind(int size) const;
    void describe(auto&& field) const { field("seed", seed); }
};

class random_matching::state {
public:
    state(std::uint64_t seed, int size)
        : random_(random_stream(seed).split("matching")),
          matrix_(size),
          order_(static_cast<std::size_t>(size)) {
        pair(0);
    }

    const mixing_matrix& matrix(std::int64_t round) {
        if (round != round_) pair(round);
        return matrix_;
    }
    std::int64_t period() const noexcept { return 0; }
    double mean_contraction() const noexcept {
        const auto n = static_cast<double>(order_.size());
        if (order_.size() < 2) return 0.0;
        return std::sqrt(order_.size() % 2 == 0 ? 0.5 * (n - 2.0) / (n - 1.0) : 0.5);
    }

private:
    void pair(std::int64_t round) {
        round_ = round;
        random_stream random = random_.split(static_cast<std::uint64_t>(round));
        std::iota(order_.begin(), order_.end(), 0);
        for (std::size_t left = order_.size(); left > 1; --left)
            std::swap(order_[left - 1], order_[static_cast<std::size_t>(random.below(left))]);
        matrix_.clear();
        for (std::size_t i = 0; i + 1 < order_.size(); i += 2)
            matrix_.link_both(order_[i], order_[i + 1], 0.5);
    }

    random_stream random_;
    mixing_matrix matrix_;
    std::vector<int> order_;
    std::int64_t round_ = 0;
};

inline random_matching::state random_matching::bind(int size) const {
    return {seed, size};
}

}  // namespace sotto::topologies
