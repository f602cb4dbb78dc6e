#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/selection.hpp"

namespace sotto::detail::kernels {
inline namespace SOTTO_UNIT {
class top_k_search;
class wide_top_k_search;
class carried_threshold;
struct insides;
}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::kernels

namespace sotto::kernels {
inline namespace SOTTO_UNIT {

/// Memory for selections from up to 2^32 values. It grows to the largest call so far and is reused.
/// Results are stored in it and last until its next use: a selection or `reserve`, even one that
/// throws. After an exception it is ready for the next call.
///   memory  12 bytes for each of min(n, 2 k + 65,536) values, 16 for fused steps, and up to 0.8
///           MB. Unneeded memory is not touched
class top_k_scratch {
public:
    /// Without memory; the first call allocates it.
    top_k_scratch();
    /// Allocates the same capacity without contents.
    top_k_scratch(const top_k_scratch&);
    /// Takes over the memory and leaves the other one without.
    top_k_scratch(top_k_scratch&&) noexcept;
    /// As the constructor.
    top_k_scratch& operator=(const top_k_scratch&);
    /// As the constructor.
    top_k_scratch& operator=(top_k_scratch&&) noexcept;
    /// Frees the memory; results in it become invalid.
    ~top_k_scratch();

    /// Allocates memory for selections of up to k of up to n values.
    void reserve(std::int64_t n, std::int64_t k);
    /// The same for a fused step, see dgc_step.hpp.
    void reserve_step(std::int64_t n, std::int64_t k);

private:
    friend detail::kernels::insides;

    std::unique_ptr<detail::kernels::top_k_search> search_;
};

/// The same for up to 2^40 values.
///   memory  as top_k_scratch, and 16 bytes for each of 2 k more
class wide_top_k_scratch {
public:
    /// Without memory; the first call allocates it.
    wide_top_k_scratch();
    /// Allocates the same capacity without contents.
    wide_top_k_scratch(const wide_top_k_scratch&);
    /// Takes over the memory and leaves the other one without.
    wide_top_k_scratch(wide_top_k_scratch&&) noexcept;
    /// As the constructor.
    wide_top_k_scratch& operator=(const wide_top_k_scratch&);
    /// As the constructor.
    wide_top_k_scratch& operator=(wide_top_k_scratch&&) noexcept;
    /// Frees the memory; results in it become invalid.
    ~wide_top_k_scratch();

    /// Allocates memory for selections of up to k of up to n values.
    void reserve(std::int64_t n, std::int64_t k);

private:
    friend detail::kernels::insides;

    std::unique_ptr<detail::kernels::wide_top_k_search> search_;
};

/// Returns exactly the k entries of largest magnitude: their indices, ascending, and their values.
/// Of equal magnitudes it selects those with the lower index.
///   shape   values: n floats, n <= 2^32, with wide_top_k_scratch 2^40;  0 <= k <= n;  the result
///           is in `scratch` until the next call
///   cost    usually one read of the values, after a sample of at most 65,536 gave a threshold,
///           then two and a quarter reads of the candidates. With a sample of s there are about
///           k + 3 sqrt(k n / s) + 2 n / s of them: 1.4 k for k = 0.001 n. Inputs that mislead the
///           sample take up to two reads more, see detail::kernels::top_k_search. No allocation
///           once `scratch` is large enough
///   errors  invalid_option for an invalid k or n; with nan_policy::refuse non_finite for a NaN,
///           unless k is 0
selection select_top_k(std::span<const float> values, std::int64_t k, top_k_scratch& scratch,
                       nan_policy nans = nan_policy::refuse);

/// The same for up to 2^40 values.
wide_selection select_top_k(std::span<const float> values, std::int64_t k,
                            wide_top_k_scratch& scratch, nan_policy nans = nan_policy::refuse);

/// The same exact result, with the last call's threshold if 4,096 values confirm it. Use it if the
/// distribution of values changes little between calls, with one `carried` per tensor.
selection select_top_k(std::span<const float> values, std::int64_t k, top_k_scratch& scratch,
                       detail::kernels::carried_threshold& carried,
                       nan_policy nans = nan_policy::refuse);

/// Returns all entries whose magnitude reaches a limit: their indices, ascending, and values. A NaN
/// reaches every limit.
///   shape   values: n floats, n <= 2^32;  the result is in `scratch` until the next call
///   cost    one read of the values; memory for n entries
///   errors  invalid_option for an invalid n, and for a limit that is NaN or below 0 (-0 is not)
selection select_above(std::span<const float> values, float limit, top_k_scratch& scratch);

}  // namespace SOTTO_UNIT

}  // namespace sotto::kernels

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/kernels/select_top_k.ipp"
#endif
