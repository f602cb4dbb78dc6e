#pragma once

#include "sotto/topologies/topology.hpp"

#include <cstddef>

#include "sotto/core/config.hpp"

namespace sotto::detail::topologies {

SOTTO_DECL const sotto::topologies::mixing_matrix& repeated_matrices::matrix(
    std::int64_t round) const noexcept {
    return matrices_[static_cast<std::size_t>(round) % matrices_.size()];
}

}  // namespace sotto::detail::topologies

namespace sotto::topologies {

SOTTO_DECL detail::topologies::repeated_matrices repeated(mixing_matrix one) {
    return detail::topologies::repeated_matrices(std::move(one));
}

SOTTO_DECL detail::topologies::repeated_matrices repeated(std::vector<mixing_matrix> some) {
    return detail::topologies::repeated_matrices(std::move(some));
}

}  // namespace sotto::topologies
