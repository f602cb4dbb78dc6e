#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sotto/core/describe.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/topologies/mixing_matrix.hpp"

namespace sotto {

/// Defines which ranks mix in which round, with what weights. Options have `bind(size)`, which
/// returns the state for that many ranks and throws invalid_option if the topology does not allow
/// them. The state is the same on all ranks and has
///   matrix(round) -> const topologies::mixing_matrix&   of one round of mixing; valid until the
///                        next call
///   period() -> std::int64_t   number of rounds after which matrices repeat; 0: each is drawn at
///                        random
/// It may have
///   mean_contraction() -> double   if rounds are drawn at random: an upper bound on the root mean
///                        square, over the draws, of the factor by which a round shrinks the
///                        distance to the mean. Default: unknown
/// Options may have name(), see topologies::name_for_logs.
template <class T>
concept topology = requires(const T& options, int size) {
    options.bind(size);
}
&&requires(decltype(std::declval<const T&>().bind(1))& state, std::int64_t round) {
    { state.matrix(round) } -> std::same_as<const topologies::mixing_matrix&>;
    { state.period() } -> std::convertible_to<std::int64_t>;
};

/// The state that `bind` returns.
template <class T>
using topology_state = decltype(std::declval<const T&>().bind(1));

namespace topologies {

/// Returns a topology's name for logs: `name()` if the options have it, otherwise the last part of
/// their type's name.
template <class T>
std::string name_for_logs(const T& options) {
    if constexpr (requires { std::string(options.name()); }) {
        return options.name();
    } else {
        std::string_view name = local_name<T>();
        name = name.substr(0, name.find('<'));
        return std::string(name.substr(name.rfind(':') + 1));
    }
}

}  // namespace topologies
}  // namespace sotto

namespace sotto::detail::topologies {

/// True if the state has mean_contraction.
template <class State>
concept tells_mean_contraction = requires(const State& state) {
    { state.mean_contraction() } -> std::convertible_to<double>;
};

}  // namespace sotto::detail::topologies

namespace sotto::detail::topologies {

/// The state of a topology whose matrices repeat.
class repeated_matrices {
public:
    /// Uses this matrix in every round.
    explicit repeated_matrices(sotto::topologies::mixing_matrix one) : matrices_{std::move(one)} {}
    /// Cycles through these matrices; at least one.
    explicit repeated_matrices(std::vector<sotto::topologies::mixing_matrix> some)
        : matrices_(std::move(some)) {}

    const sotto::topologies::mixing_matrix& matrix(std::int64_t round) const noexcept;
    std::int64_t period() const noexcept { return std::ssize(matrices_); }

private:
    std::vector<sotto::topologies::mixing_matrix> matrices_;
};

}  // namespace sotto::detail::topologies

namespace sotto::topologies {

/// Returns the state of a topology that uses this matrix in every round, for use in `bind`.
detail::topologies::repeated_matrices repeated(mixing_matrix one);
/// Returns the state of a topology that cycles through these matrices; at least one.
detail::topologies::repeated_matrices repeated(std::vector<mixing_matrix> some);

}  // namespace sotto::topologies

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/topologies/topology.ipp"
#endif
