#pragma once

#include "sotto/kernels/select_top_k_of_many.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/simd/require.hpp"
#include "sotto/kernels/detail/simd/uninitialised.hpp"
#include "sotto/kernels/detail/top_k/select.hpp"
#include "sotto/kernels/detail/top_k/sources.hpp"
#include "sotto/kernels/detail/top_k/top_k_search.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

class many_top_k_search {
public:
    /// Selects from each tensor.
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

    /// Selects from all tensors together.
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

private:
    static constexpr const char *of_each = "select_top_k_of_each", *of_all = "select_top_k_of_all";

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

SOTTO_DECL many_top_k_memory::many_top_k_memory() = default;
SOTTO_DECL many_top_k_memory::many_top_k_memory(const many_top_k_memory& other)
    : search_(other.search_ ? std::make_unique<many_top_k_search>(*other.search_) : nullptr) {}
SOTTO_DECL many_top_k_memory& many_top_k_memory::operator=(const many_top_k_memory& other) {
    return *this = many_top_k_memory(other);
}
SOTTO_DECL many_top_k_memory::many_top_k_memory(many_top_k_memory&&) noexcept = default;
SOTTO_DECL many_top_k_memory& many_top_k_memory::operator=(many_top_k_memory&&) noexcept = default;
SOTTO_DECL many_top_k_memory::~many_top_k_memory() = default;

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT

namespace sotto::kernels {
inline namespace SOTTO_UNIT {

SOTTO_DECL std::span<const selection> select_top_k_of_each(
    std::span<const std::span<const float>> tensors, std::span<const std::int64_t> k,
    many_top_k_scratch& scratch, nan_policy nans) {
    return detail::kernels::insides::of(scratch).select(tensors, k, nans);
}

SOTTO_DECL std::span<const selection> select_top_k_of_all(
    std::span<const std::span<const float>> tensors, std::int64_t k, many_top_k_scratch& scratch,
    nan_policy nans) {
    return detail::kernels::insides::of(scratch).select(tensors, k, nans);
}

}  // namespace SOTTO_UNIT
}  // namespace sotto::kernels
