#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/select_top_k.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

class many_top_k_search;

/// Memory for selections from many tensors of up to 2^32 values each. It grows to the largest call
/// so far. Results are stored in it and last until the next call, even one that throws.
class many_top_k_memory {
public:
    many_top_k_memory();
    /// Allocates the same capacity without contents.
    many_top_k_memory(const many_top_k_memory&);
    /// Takes over the memory and leaves the other one without.
    many_top_k_memory(many_top_k_memory&&) noexcept;
    /// As the constructor.
    many_top_k_memory& operator=(const many_top_k_memory&);
    /// As the constructor.
    many_top_k_memory& operator=(many_top_k_memory&&) noexcept;
    ~many_top_k_memory();

private:
    friend detail::kernels::insides;

    std::unique_ptr<many_top_k_search> search_;
};

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT

namespace sotto::kernels {
inline namespace SOTTO_UNIT {

/// Memory for selections from many tensors of up to 2^32 values each. It grows to the largest call
/// so far. Results are stored in it and last until the next call, even one that throws.
using many_top_k_scratch = detail::kernels::many_top_k_memory;

/// Returns the k[t] entries of largest magnitude of each tensor t, as select_top_k on each tensor.
///   shape   tensors and k have one size; the result, one selection per tensor, is in `scratch`
///           until the next call
///   errors  as select_top_k
std::span<const selection> select_top_k_of_each(std::span<const std::span<const float>> tensors,
                                                std::span<const std::int64_t> k,
                                                many_top_k_scratch& scratch,
                                                nan_policy nans = nan_policy::refuse);

/// Returns the k entries of largest magnitude of all tensors together, grouped by tensor. Of equal
/// magnitudes it selects those in the earlier tensor, and there those at the lower index.
///   shape   0 <= k <= the number of all values; the result, one selection per tensor, is in
///           `scratch` until the next call
///   cost    usually one read of all tensors: one sample and one threshold serve all of them
///   errors  as select_top_k
std::span<const selection> select_top_k_of_all(std::span<const std::span<const float>> tensors,
                                               std::int64_t k, many_top_k_scratch& scratch,
                                               nan_policy nans = nan_policy::refuse);

}  // namespace SOTTO_UNIT
}  // namespace sotto::kernels

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/kernels/select_top_k_of_many.ipp"
#endif
