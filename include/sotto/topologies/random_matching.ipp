#pragma once

#include "sotto/topologies/random_matching.hpp"

#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

#include "sotto/core/config.hpp"

namespace sotto::topologies {

SOTTO_DECL random_matching::state::state(std::uint64_t seed, int size)
    : random_(random_stream(seed).split("matching")),
      matrix_(size),
      order_(static_cast<std::size_t>(size)) {
    pair(0);
}

SOTTO_DECL const mixing_matrix& random_matching::state::matrix(std::int64_t round) {
    if (round != round_) pair(round);
    return matrix_;
}

SOTTO_DECL double random_matching::state::mean_contraction() const noexcept {
    const auto n = static_cast<double>(order_.size());
    if (order_.size() < 2) return 0.0;
    return std::sqrt(order_.size() % 2 == 0 ? 0.5 * (n - 2.0) / (n - 1.0) : 0.5);
}

SOTTO_DECL void random_matching::state::pair(std::int64_t round) {
    round_ = round;
    random_stream random = random_.split(static_cast<std::uint64_t>(round));
    std::iota(order_.begin(), order_.end(), 0);
    for (std::size_t left = order_.size(); left > 1; --left)
        std::swap(order_[left - 1], order_[static_cast<std::size_t>(random.below(left))]);
    matrix_.clear();
    for (std::size_t i = 0; i + 1 < order_.size(); i += 2)
        matrix_.link_both(order_[i], order_[i + 1], 0.5);
}

}  // namespace sotto::topologies
