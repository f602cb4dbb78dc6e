#pragma once

#include "sotto/topologies/exponential.hpp"

#include "sotto/core/config.hpp"

namespace sotto::detail::topologies {

SOTTO_DECL std::vector<std::int64_t> powers_below(int size) {
    std::vector<std::int64_t> powers;
    for (std::int64_t power = 1; power < size; power *= 2) powers.push_back(power);
    return powers;
}

SOTTO_DECL int after(int rank, std::int64_t steps, int size) noexcept {
    return static_cast<int>((rank + steps) % size);
}

}  // namespace sotto::detail::topologies
