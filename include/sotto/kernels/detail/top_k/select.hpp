#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>

#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/kernels/detail/simd/require.hpp"
#include "sotto/kernels/detail/top_k/carried_threshold.hpp"
#include "sotto/kernels/detail/top_k/magnitude.hpp"
#include "sotto/kernels/detail/top_k/top_k_search.hpp"
#include "sotto/kernels/selection.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

constexpr std::uint64_t narrow_max = std::uint64_t{1} << 32, wide_max = std::uint64_t{1} << 40;
constexpr std::size_t only_tensor = static_cast<std::size_t>(-1);

/// Returns the tensor's name for messages.
inline std::string of_tensor(std::size_t tensor) {
    return tensor == only_tensor ? std::string() : " of tensor " + std::to_string(tensor);
}

/// Checks n and k. n may come from a negative number.
inline void check_top_k(std::size_t n, std::int64_t k, std::uint64_t n_max = narrow_max,
                        const char* function = "select_top_k", std::size_t tensor = only_tensor) {
    const auto number = static_cast<std::int64_t>(n);
    if (number < 0) [[unlikely]]
        refuse(function, "n is " + std::to_string(number), "0 to " + std::to_string(n_max));
    if (n > n_max) [[unlikely]]
        throw invalid_option(std::string(function) + ": there are " + std::to_string(n) +
                             " values" + of_tensor(tensor) + "; this scratch's index type allows " +
                             std::to_string(n_max));
    if (k < 0 || k > number) [[unlikely]]
        refuse(function, given("k" + of_tensor(tensor), k),
               "0 to " + std::to_string(number) + ", the number of values");
}

/// Throws if a value is NaN. `first_place` is the place of the first of these values.
inline void refuse_nan(std::span<const float> values, std::uint64_t first_place = 0,
                       const char* function = "select_top_k", std::size_t tensor = only_tensor) {
    const auto is_nan = [](float value) { return magnitude_of(value) > infinity_bits; };
    const auto first = std::find_if(values.begin(), values.end(), is_nan);
    if (first == values.end()) return;
    const auto place = first_place + static_cast<std::uint64_t>(first - values.begin());
    throw error(errc::non_finite, std::string(function) + ": value " + std::to_string(place) +
                                      of_tensor(tensor) + " is NaN");
}

template <class Source>
sotto::kernels::selection select(const selected_part<Source>& part, std::int64_t k,
                                 top_k_search& search, const probable_thresholds* guess,
                                 sotto::kernels::nan_policy nans, std::uint64_t first_place = 0) {
    check_top_k(part.size, k);
    if (k == 0) return {};
    search.run(std::span(&part, 1), static_cast<std::size_t>(k), guess);
    if (nans == sotto::kernels::nan_policy::refuse && search.has_nan())
        refuse_nan({part.source.values, part.size}, first_place);
    const auto count = static_cast<std::size_t>(k);
    return {{search.places(), count}, {search.values(), count}};
}

/// Gives kernels access to private members of public types.
struct insides {
    /// Returns the search of a scratch, which is created on first use.
    template <class Scratch>
    static auto& of(Scratch& scratch) {
        auto& search = scratch.search_;
        if (!search)
            search = std::make_unique<
                typename std::remove_reference_t<decltype(search)>::element_type>();
        return *search;
    }
    static const probable_thresholds* guess_of(const carried_threshold& carried) noexcept {
        return carried.guess();
    }
    static void learn(carried_threshold& carried, const auto& from, std::int64_t k) noexcept {
        if (k > 0) carried.learn(*from.search_, static_cast<std::size_t>(k));
    }
};

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT
