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

/// Memory that selections from up to 2^32 values work in; grows to what the largest call needed and
/// is then reused. Results lie in it and last until it is used again: by a selection or `reserve`,
/// also one that throws. What threw left it ready for the next call.
///   memory  12 bytes for each of min(n, 2 k + 65,536) values, 16 for fused steps, and up to
///           0.8 MB. What is not needed is not touched
class top_k_scratch {
public:
    /// Without memory: the first call takes it.
    top_k_scratch();
    /// Has as much room, and nothing else.
    top_k_scratch(const top_k_scratch&);
    /// Takes the memory over; the other one has none then.
    top_k_scratch(top_k_scratch&&) noexcept;
    /// As the constructor.
    top_k_scratch& operator=(const top_k_scratch&);
    /// As the constructor.
    top_k_scratch& operator=(top_k_scratch&&) noexcept;
    /// Gives the memory back, and what selections left there.
    ~top_k_scratch();

    /// Takes what selecting up to k of up to n values needs.
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
    /// Without memory: the first call takes it.
    wide_top_k_scratch();
    /// Has as much room, and nothing else.
    wide_top_k_scratch(const wide_top_k_scratch&);
    /// Takes the memory over; the other one has none then.
    wide_top_k_scratch(wide_top_k_scratch&&) noexcept;
    /// As the constructor.
    wide_top_k_scratch& operator=(const wide_top_k_scratch&);
    /// As the constructor.
    wide_top_k_scratch& operator=(wide_top_k_scratch&&) noexcept;
    /// Gives the memory back, and what selections left there.
    ~wide_top_k_scratch();

    /// Takes what selecting up to k of up to n values needs.
    void reserve(std::int64_t n, std::int64_t k);

private:
    friend detail::kernels::insides;

    std::unique_ptr<detail::kernels::wide_top_k_search> search_;
};

/// The k entries of largest magnitude, exactly: their indices, ascending, and their values; of
/// equal magnitudes those with the lower index.
///   shape   values: n floats, n <= 2^32, with wide_top_k_scratch 2^40;  0 <= k <= n;  the result
///           lives in `scratch` until the next call
///   cost    one read of the values, as a rule, after a sample of at most 65,536 gave a threshold,
///           then two and a quarter reads of the candidates: with a sample of s about
///           k + 3 sqrt(k n / s) + 2 n / s of them, 1.4 k for k = 0.001 n. Inputs that mislead the
///           sample take up to two reads more, see detail::top_k_search. No allocation once
///           `scratch` is large enough
///   errors  invalid_option for another k or n; with nan_policy::refuse non_finite for a NaN,
///           unless k is 0
selection select_top_k(std::span<const float> values, std::int64_t k, top_k_scratch& scratch,
                       nan_policy nans = nan_policy::refuse);

/// The same of up to 2^40 values.
wide_selection select_top_k(std::span<const float> values, std::int64_t k,
                            wide_top_k_scratch& scratch, nan_policy nans = nan_policy::refuse);

/// The same, as exactly, with the last call's threshold, if 4,096 values agree with it: for values
/// whose distribution changes little from call to call; one `carried` for each tensor.
selection select_top_k(std::span<const float> values, std::int64_t k, top_k_scratch& scratch,
                       detail::kernels::carried_threshold& carried,
                       nan_policy nans = nan_policy::refuse);

/// All entries whose magnitude reaches a limit, however many: their indices, ascending, and values.
/// A NaN reaches every limit.
///   shape   values: n floats, n <= 2^32;  the result lives in `scratch` until the next call
///   cost    one read of the values; memory for n entries
///   errors  invalid_option for another n, and for a limit that is NaN or below 0 (-0 is not)
selection select_above(std::span<const float> values, float limit, top_k_scratch& scratch);

}  // namespace SOTTO_UNIT

}  // namespace sotto::kernels

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/kernels/select_top_k.ipp"
#endif
