#pragma once

#include <concepts>
#include <cstdint>
#include <span>

#include "sotto/core/errors.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/core/round_info.hpp"

namespace sotto::detail {
/// A real of the target density, so that a selector's options can be read without knowing which
/// selector it is.
template <class S>
concept has_density = requires(const S& options) {
    { options.density } -> std::convertible_to<double>;
};
}  // namespace sotto::detail

namespace sotto {

/// Which entries of a tensor are sent. Options have `density` (the target share k/n, in (0, 1]) and
/// `bind_selector(layout)`; the state has
///   begin_round(round_info)
///   select(tensor, values, k) -> indices   ascending, without repetition; valid until the next
///                                          call
///   entries_max(tensor, k)                 the most that select can return
/// and may have
///   reserve(tensor, k)                     takes the memory that selecting up to k needs; called
///                                          once for each tensor that is selected from
///   exact()                                a kernels::top_k_scratch: what is selected are the k
///                                          largest, of equals the lower index, so that a memory
///                                          may select while it accumulates
///   visit(field)                           calls field(name, value) for everything to be saved: a
///                                          selector that remembers more than follows from the
///                                          round needs it
/// `static constexpr bool shared = true` in the options says that the choice depends on the round
/// alone, not on the values: all ranks choose alike, and what they chose can be summed.
template <class S>
concept selector = detail::has_density<S> &&
    requires(const S& options, const layout& tensors, const tensor& t,
             std::span<const float> values, std::int64_t k, const round_info& where) {
    options.bind_selector(tensors).begin_round(where);
    {
        options.bind_selector(tensors).select(t, values, k)
        } -> std::convertible_to<std::span<const std::uint32_t>>;
    { options.bind_selector(tensors).entries_max(t, k) } -> std::convertible_to<std::int64_t>;
};

}  // namespace sotto

namespace sotto::detail {

/// The choice depends on the round alone, so that all ranks choose alike.
template <class S>
concept shared_selector = selector<S> && requires {
    requires S::shared;
};

}  // namespace sotto::detail

namespace sotto {

/// k = ceil(density * n), at least 1 unless the tensor is empty. The factor keeps 0.001 * 3000 =
/// 3.0000000000000004 from becoming 4.
std::int64_t entries_at(double density, std::int64_t n) noexcept;

/// Throws invalid_option unless 0 < density <= 1.
void check_density(const char* policy, const double& density);

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/compressors/selector.ipp"
#endif
