#pragma once

#include <cstdint>
#include <vector>

#include "sotto/core/random.hpp"
#include "sotto/topologies/mixing_matrix.hpp"

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
