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

/// Who talks to whom, with what weight, in which round. Options have `bind(size)`, for so many
/// ranks; the state, which is the same on all of them, has
///   matrix(round) -> const topologies::mixing_matrix&   of one round of mixing; valid until the
///                        next call
///   period() -> std::int64_t   after so many rounds matrices repeat; 0: each is drawn anew
/// and may have, with the default for those that do not,
///   mean_contraction() -> double   where each is drawn anew: what a round leaves of the distance
///                        to the mean, in the root of the mean of squares over what may be drawn,
///                        at most; not known
/// Options may have name(), see topologies::name_for_logs.
/// It throws invalid_option where so many ranks cannot be joined so.
template <class T>
concept topology = requires(const T& options, int size) {
    options.bind(size);
}
&&requires(decltype(std::declval<const T&>().bind(1))& state, std::int64_t round) {
    { state.matrix(round) } -> std::same_as<const topologies::mixing_matrix&>;
    { state.period() } -> std::convertible_to<std::int64_t>;
};

/// The state that options become.
template <class T>
using topology_state = decltype(std::declval<const T&>().bind(1));

namespace topologies {

/// What people call a topology, for logs: by `name()`, which options may have, or by the last part
/// of their type's.
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

/// The state has mean_contraction.
template <class State>
concept tells_mean_contraction = requires(const State& state) {
    { state.mean_contraction() } -> std::convertible_to<double>;
};

}  // namespace sotto::detail::topologies

namespace sotto::detail::topologies {

/// The state of a topology whose matrices repeat.
class repeated_matrices {
public:
    /// Every round has this matrix.
    explicit repeated_matrices(sotto::topologies::mixing_matrix one) : matrices_{std::move(one)} {}
    /// Rounds take these matrices in turn; one at least.
    explicit repeated_matrices(std::vector<sotto::topologies::mixing_matrix> some)
        : matrices_(std::move(some)) {}

    const sotto::topologies::mixing_matrix& matrix(std::int64_t round) const noexcept;
    std::int64_t period() const noexcept { return std::ssize(matrices_); }

private:
    std::vector<sotto::topologies::mixing_matrix> matrices_;
};

}  // namespace sotto::detail::topologies

namespace sotto::topologies {

/// The state of a topology in which every round has this matrix, as `bind` may return it.
detail::topologies::repeated_matrices repeated(mixing_matrix one);
/// The same, where rounds take these matrices in turn; one at least.
detail::topologies::repeated_matrices repeated(std::vector<mixing_matrix> some);

}  // namespace sotto::topologies

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/topologies/topology.ipp"
#endif
