#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/select_top_k.hpp"
#include "sotto/kernels/thread_team.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {
class team_top_k_search;
}  // namespace sotto::detail::kernels::inline SOTTO_UNIT

namespace sotto::kernels {
inline namespace SOTTO_UNIT {

/// Memory for a team's selection: that of top_k_scratch for each member, and for the result.
class team_top_k_scratch {
public:
    /// Without memory; the first call allocates it.
    team_top_k_scratch();
    /// Allocates the same capacity without contents.
    team_top_k_scratch(const team_top_k_scratch&);
    /// Takes over the memory and leaves the other one without.
    team_top_k_scratch(team_top_k_scratch&&) noexcept;
    /// As the constructor.
    team_top_k_scratch& operator=(const team_top_k_scratch&);
    /// As the constructor.
    team_top_k_scratch& operator=(team_top_k_scratch&&) noexcept;
    /// Frees the memory; results in it become invalid.
    ~team_top_k_scratch();

    /// Allocates memory for selecting k of n values with this number of threads.
    void reserve(std::int64_t n, std::int64_t k, int threads);

private:
    friend detail::kernels::insides;

    std::unique_ptr<detail::kernels::team_top_k_search> search_;
};

/// The same selection by several threads, which divide the values.
///   shape   as select_top_k; the result is in `scratch` until the next call
///   cost    up to 65,536 values as select_top_k; for more, each thread reads its part, and the
///           threads synchronise four times
///   errors  as select_top_k
selection select_top_k(std::span<const float> values, std::int64_t k, team_top_k_scratch& scratch,
                       thread_team& team, nan_policy nans = nan_policy::refuse);

}  // namespace SOTTO_UNIT
}  // namespace sotto::kernels

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/kernels/team_top_k.ipp"
#endif
