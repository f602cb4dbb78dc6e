#pragma once

#include <cstdint>
#include <vector>

#include "sotto/core/random.hpp"
#include "sotto/topologies/mixing_matrix.hpp"

namespace sotto::topologies {

/// Pairs the ranks at random in every round. All ranks draw the same pairs, and each pair takes its
/// mean. If the number of ranks is odd, one rank is left out.
///   math    weights 1/2. In expectation and in any direction a round leaves a part of the squared
///           distance to the mean. For even n it is (n - 2) / (2 (n - 1)), for odd n 1/2: about
///           half, independent of n. mean_contraction is the square root of this
///   cost    1 link per rank and round; matrix(round) O(n), no allocation
///   source  Boyd et al. 2006, Randomized gossip algorithms
struct random_matching {
    std::uint64_t seed = 1;  // of the draws, the same on all ranks

    class state;
    state bind(int size) const;
    void describe(auto&& field) const { field("seed", seed); }
};

class random_matching::state {
public:
    state(std::uint64_t seed, int size);

    const mixing_matrix& matrix(std::int64_t round);
    std::int64_t period() const noexcept { return 0; }
    double mean_contraction() const noexcept;

private:
    void pair(std::int64_t round);

    random_stream random_;
    mixing_matrix matrix_;
    std::vector<int> order_;
    std::int64_t round_ = 0;
};

inline random_matching::state random_matching::bind(int size) const {
    return {seed, size};
}

}  // namespace sotto::topologies

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/topologies/random_matching.ipp"
#endif
