#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/select_top_k.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

class many_top_k_search;

/// Memory for selections from many tensors of up to 2^32 values each; grows to what the largest
/// call needed. Results lie in it and last until the next call, also one that throws.
class many_top_k_memory {
public:
    many_top_k_memory();
    /// Has as much room, and nothing else.
    many_top_k_memory(const many_top_k_memory&);
    /// Takes the memory over; the other one has none then.
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

/// Memory for selections from many tensors of up to 2^32 values each; grows to what the largest
/// call needed. Results lie in it and last until the next call, also one that throws.
using many_top_k_scratch = detail::kernels::many_top_k_memory;

/// The k[t] entries of largest magnitude of each tensor t, as select_top_k finds them one by one.
///   shape   tensors and k have one size; the result, one selection a tensor, lives in `scratch`
///           until the next call
///   errors  as select_top_k
std::span<const selection> select_top_k_of_each(std::span<const std::span<const float>> tensors,
                                                std::span<const std::int64_t> k,
                                                many_top_k_scratch& scratch,
                                                nan_policy nans = nan_policy::refuse);

/// The k entries of largest magnitude of all tensors together, told tensor by tensor; of equal
/// magnitudes those in the earlier tensor, and there at the lower index.
///   shape   0 <= k <= the number of all values; the result, one selection a tensor, lives in
///           `scratch` until the next call
///   cost    one read of all tensors, as a rule: one sample and one threshold serve them all
///   errors  as select_top_k
std::span<const selection> select_top_k_of_all(std::span<const std::span<const float>> tensors,
                                               std::int64_t k, many_top_k_scratch& scratch,
                                               nan_policy nans = nan_policy::refuse);

}  // namespace SOTTO_UNIT
}  // namespace sotto::kernels

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/kernels/select_top_k_of_many.ipp"
#endif
