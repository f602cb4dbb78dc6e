#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "sotto/topologies/topology.hpp"

namespace sotto::detail::topologies {
/// Returns 1, 2, 4, ... below the number of ranks.
std::vector<std::int64_t> powers_below(int size);

int after(int rank, std::int64_t steps, int size) noexcept;
}  // namespace sotto::detail::topologies

namespace sotto::topologies {

/// Each rank sends to the ranks 1, 2, 4, ... places after it. Links go one way. Every rank has as
/// many links out as in, so the mean is kept.
///   math    weights 1 / (1 + ceil(log2 n));  second singular value 0.6 for 16 ranks, 0.714 for 64
///   cost    ceil(log2 n) links a rank
///   source  Assran et al. 2019, Stochastic gradient push, arXiv:1811.10792; Ying et al. 2021,
///           Exponential graph is provably efficient for decentralized deep training
struct exponential {
    auto bind(int size) const {
        mixing_matrix matrix(size);
        const auto powers = detail::topologies::powers_below(size);
        for (int rank = 0; rank < size; ++rank)
            for (const std::int64_t steps : powers)
                matrix.link(detail::topologies::after(rank, steps, size), rank,
                            1.0 / (1.0 + static_cast<double>(powers.size())));
        return topologies::repeated(std::move(matrix));
    }
    void describe(auto&&) const {}
};

/// The links of `exponential`, one per round. In round t each rank sends to the rank 2^t places
/// after it, which averages the two values.
///   math    weights 1/2;  log2 n rounds give the mean of all ranks if n is a power of two
///   cost    1 link per rank and round
///   source  as exponential
struct one_peer_exponential {
    auto bind(int size) const {
        std::vector<mixing_matrix> rounds;
        for (const std::int64_t steps : detail::topologies::powers_below(size)) {
            mixing_matrix& matrix = rounds.emplace_back(size);
            for (int rank = 0; rank < size; ++rank)
                matrix.link(detail::topologies::after(rank, steps, size), rank, 0.5);
        }
        if (rounds.empty()) rounds.emplace_back(size);
        return topologies::repeated(std::move(rounds));
    }
    void describe(auto&&) const {}
};

}  // namespace sotto::topologies

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/topologies/exponential.ipp"
#endif
