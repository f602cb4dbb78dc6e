#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/simd/require.hpp"
#include "sotto/kernels/select_top_k.hpp"
#include "sotto/kernels/detail/top_k/top_k_search.hpp"
#include "sotto/kernels/detail/simd/uninitialised.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

/// Memory for selections from many tensors; grows to what the largest call needed. Results lie in
/// it and last until the next call, also one that throws.
template <std::same_as<std::uint32_t> Index>
class basic_many_top_k_scratch {
private:
    friend detail::kernels::insides;

    static constexpr const char *of_each = "select_top_k_of_each", *of_all = "select_top_k_of_all";

    /// Of each tensor.
    std::span<const sotto::kernels::selection> select(
        std::span<const std::span<const float>> tensors, std::span<const std::int64_t> k,
        sotto::kernels::nan_policy nans) {
        require_size_of({"tensors", tensors.size()}, {{"k", k.size()}}, of_each);
        for (std::size_t t = 0; t < tensors.size(); ++t)
            check_top_k(tensors[t].size(), k[t], narrow_max, of_each, t);
        const auto total =
            static_cast<std::size_t>(std::accumulate(k.begin(), k.end(), std::int64_t{0}));
        places_.reserve(total);
        values_.reserve(total);
        found_.clear();
        std::size_t to = 0;
        for (std::size_t t = 0; t < tensors.size(); ++t) {
            const sotto::kernels::selection one = of_one(tensors[t], k[t], t, nans);
            const std::size_t count = one.indices.size();
            std::copy_n(one.indices.data(), count, places_.data() + to);
            std::copy_n(one.values.data(), count, values_.data() + to);
            found_.push_back({{places_.data() + to, count}, {values_.data() + to, count}});
            to += count;
        }
        return found_;
    }

    /// Of all tensors together.
    std::span<const sotto::kernels::selection> select(
        std::span<const std::span<const float>> tensors, std::int64_t k,
        sotto::kernels::nan_policy nans) {
        parts_.clear();
        std::size_t n = 0;
        for (std::size_t t = 0; t < tensors.size(); ++t) {
            check_top_k(tensors[t].size(), 0, narrow_max, of_all, t);
            parts_.push_back({{tensors[t].data()}, tensors[t].size()});
            n += tensors[t].size();
        }
        check_top_k(n, k, wide_max, of_all);
        search_.reserve(n, static_cast<std::size_t>(k), false, parts_.size());
        found_.assign(tensors.size(), {});
        if (k == 0) return found_;
        search_.run(std::span<const part>(parts_), static_cast<std::size_t>(k), nullptr);
        if (nans == sotto::kernels::nan_policy::refuse && search_.has_nan())
            for (std::size_t t = 0; t < tensors.size(); ++t) refuse_nan(tensors[t], 0, of_all, t);
        for (std::size_t t = 0, from = 0; t < tensors.size(); from = search_.ends()[t++]) {
            const std::size_t count = search_.ends()[t] - from;
            found_[t] = {{search_.places() + from, count}, {search_.values() + from, count}};
        }
        return found_;
    }

    sotto::kernels::selection of_one(std::span<const float> tensor, std::int64_t k, std::size_t t,
                                     sotto::kernels::nan_policy nans) {
        const sotto::kernels::selection found = kernels::select(
            whole(tensor), k, search_, nullptr, sotto::kernels::nan_policy::largest);
        if (k > 0 && nans == sotto::kernels::nan_policy::refuse && search_.has_nan())
            refuse_nan(tensor, 0, of_each, t);
        return found;
    }

    using part = selected_part<plain_source>;

    top_k_search search_;
    std::vector<part> parts_;
    std::vector<sotto::kernels::selection> found_;
    uninitialised<std::uint32_t> places_;
    uninitialised<float> values_;
};

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT

namespace sotto::kernels::inline SOTTO_UNIT {

/// For tensors of up to 2^32 values.
using many_top_k_scratch = detail::kernels::basic_many_top_k_scratch<std::uint32_t>;

/// The k[t] entries of largest magnitude of each tensor t, as select_top_k finds them one by one.
///   shape   tensors and k have one size; the result, one selection a tensor, lives in `scratch`
///           until the next call
///   errors  as select_top_k
template <class Index>
std::span<const detail::kernels::basic_selection<Index>> select_top_k_of_each(
    std::span<const std::span<const float>> tensors, std::span<const std::int64_t> k,
    detail::kernels::basic_many_top_k_scratch<Index>& scratch,
    nan_policy nans = nan_policy::refuse) {
    return detail::kernels::insides::select(scratch, tensors, k, nans);
}

/// The k entries of largest magnitude of all tensors together, told tensor by tensor; of equal
/// magnitudes those in the earlier tensor, and there at the lower index.
///   shape   0 <= k <= the number of all values; the result, one selection a tensor, lives in
///           `scratch` until the next call
///   cost    one read of all tensors, as a rule: one sample and one threshold serve them all
///   errors  as select_top_k
template <class Index>
std::span<const detail::kernels::basic_selection<Index>> select_top_k_of_all(
    std::span<const std::span<const float>> tensors, std::int64_t k,
    detail::kernels::basic_many_top_k_scratch<Index>& scratch,
    nan_policy nans = nan_policy::refuse) {
    return detail::kernels::insides::select(scratch, tensors, k, nans);
}

}  // namespace sotto::kernels::inline SOTTO_UNIT
