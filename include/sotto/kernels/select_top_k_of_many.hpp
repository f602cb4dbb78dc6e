#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/kernels/require.hpp"
#include "sotto/kernels/select_top_k.hpp"
#include "sotto/kernels/top_k_search.hpp"
#include "sotto/kernels/uninitialised.hpp"

namespace sotto::kernels::inline SOTTO_UNIT {

/// Memory for selections from many tensors; grows to what the largest call needed.
class many_top_k_scratch {
public:
    std::span<const selection> select_of_each(std::span<const std::span<const float>> tensors,
                                              std::span<const std::int64_t> k, nan_policy nans) {
        require(k.size() == tensors.size(), "select_top_k_of_each", "one k for each tensor");
        for (std::size_t t = 0; t < tensors.size(); ++t)
            detail::check_top_k(tensors[t].size(), k[t], std::uint64_t{1} << 32);
        const auto total =
            static_cast<std::size_t>(std::accumulate(k.begin(), k.end(), std::int64_t{0}));
        places_.reserve(total);
        values_.reserve(total);
        found_.clear();
        std::size_t to = 0;
        for (std::size_t t = 0; t < tensors.size(); ++t) {
            const selection one = of_one(tensors[t], k[t], t, nans);
            const std::size_t count = one.indices.size();
            std::copy_n(one.indices.data(), count, places_.data() + to);
            std::copy_n(one.values.data(), count, values_.data() + to);
            found_.push_back({{places_.data() + to, count}, {values_.data() + to, count}});
            to += count;
        }
        return found_;
    }

    std::span<const selection> select_of_all(std::span<const std::span<const float>> tensors,
                                             std::int64_t k, nan_policy nans) {
        parts_.clear();
        std::size_t n = 0;
        for (const std::span<const float> tensor : tensors) {
            detail::check_top_k(tensor.size(), 0, std::uint64_t{1} << 32);
            parts_.push_back({{tensor.data()}, tensor.size()});
            n += tensor.size();
        }
        detail::check_top_k(n, k, std::uint64_t{1} << 40);
        search_.reserve(n, static_cast<std::size_t>(k), false, parts_.size());
        found_.assign(tensors.size(), {});
        if (k == 0) return found_;
        search_.run(std::span<const part>(parts_), static_cast<std::size_t>(k), nullptr);
        if (nans == nan_policy::refuse && search_.has_nan())
            for (std::size_t t = 0; t < tensors.size(); ++t) refuse_nan(tensors[t], t);
        for (std::size_t t = 0, from = 0; t < tensors.size(); from = search_.ends()[t++]) {
            const std::size_t count = search_.ends()[t] - from;
            found_[t] = {{search_.places() + from, count}, {search_.values() + from, count}};
        }
        return found_;
    }

private:
    selection of_one(std::span<const float> tensor, std::int64_t k, std::size_t t,
                     nan_policy nans) {
        const selection found = detail::select(tensor, k, search_, nullptr, nan_policy::largest);
        if (k > 0 && nans == nan_policy::refuse && search_.has_nan()) refuse_nan(tensor, t);
        return found;
    }

    static void refuse_nan(std::span<const float> tensor, std::size_t t) {
        detail::refuse_nan(tensor, 0, " of tensor " + std::to_string(t));
    }

    using part = detail::selected_part<detail::plain_source>;

    detail::top_k_search search_;
    std::vector<part> parts_;
    std::vector<selection> found_;
    uninitialised<std::uint32_t> places_;
    uninitialised<float> values_;
};

/// The k[t] entries of largest magnitude of each tensor t, as select_top_k finds them one by one.
///   shape   tensors and k have one size; the result, one selection a tensor, lives in `scratch`
///           until the next call
///   errors  as select_top_k
inline std::span<const selection> select_top_k_of_each(
    std::span<const std::span<const float>> tensors, std::span<const std::int64_t> k,
    many_top_k_scratch& scratch, nan_policy nans = nan_policy::refuse) {
    return scratch.select_of_each(tensors, k, nans);
}

/// The k entries of largest magnitude of all tensors together, told tensor by tensor; of equal
/// magnitudes those in the earlier tensor, and there at the lower index.
///   shape   0 <= k <= the number of all values; the result, one selection a tensor, lives in
///           `scratch` until the next call
///   cost    one read of all tensors, as a rule: one sample and one threshold serve them all
///   errors  as select_top_k
inline std::span<const selection> select_top_k_of_all(
    std::span<const std::span<const float>> tensors, std::int64_t k, many_top_k_scratch& scratch,
    nan_policy nans = nan_policy::refuse) {
    return scratch.select_of_all(tensors, k, nans);
}

}  // namespace sotto::kernels::inline SOTTO_UNIT
