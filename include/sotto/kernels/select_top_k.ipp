#pragma once

#include "sotto/kernels/select_top_k.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/simd/require.hpp"
#include "sotto/kernels/detail/simd/uninitialised.hpp"
#include "sotto/kernels/detail/top_k/carried_threshold.hpp"
#include "sotto/kernels/detail/top_k/magnitude.hpp"
#include "sotto/kernels/detail/top_k/rank_magnitude.hpp"
#include "sotto/kernels/detail/top_k/select.hpp"
#include "sotto/kernels/detail/top_k/top_k_search.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

/// Selects from parts of up to 2^32 values, then among their results.
class wide_top_k_search {
public:
    void reserve(std::int64_t n, std::int64_t k) {
        check_top_k(static_cast<std::size_t>(n), k, wide_max, "wide_top_k_scratch::reserve");
        const auto most = static_cast<std::int64_t>(part_max);
        part_.reserve(static_cast<std::size_t>((std::min)(n, most)),
                      static_cast<std::size_t>((std::min)(k, most)), false);
        const std::size_t room = 2 * static_cast<std::size_t>(k);
        ranker_.reserve(room);
        places_.reserve(room);
        values_.reserve(room);
    }

    sotto::kernels::wide_selection run(std::span<const float> values, std::int64_t k,
                                       sotto::kernels::nan_policy nans) {
        check_top_k(values.size(), k, wide_max);
        reserve(static_cast<std::int64_t>(values.size()), k);
        const auto wanted = static_cast<std::size_t>(k);
        std::size_t count = 0;
        for (std::size_t from = 0; wanted > 0 && from < values.size(); from += part_max) {
            const auto part = values.subspan(from, (std::min)(part_max, values.size() - from));
            const auto most = (std::min)(k, static_cast<std::int64_t>(part.size()));
            const auto found = kernels::select(whole(part), most, part_, nullptr, nans, from);
            for (std::size_t i = 0; i < found.indices.size(); ++i) {
                places_.data()[count + i] = from + found.indices[i];
                values_.data()[count + i] = found.values[i];
            }
            count += found.indices.size();
            if (count > wanted) count = cut(count, wanted);
        }
        return {{places_.data(), count}, {values_.data(), count}};
    }

private:
    static constexpr std::size_t part_max = std::size_t{1} << 32;

    std::size_t cut(std::size_t count, std::size_t wanted) {
        const auto least = ranker_.rank({values_.data(), count}, wanted);
        std::size_t ties = wanted - least.above, to = 0;
        for (std::size_t i = 0; i < count; ++i) {
            const std::uint32_t magnitude = magnitude_of(values_.data()[i]);
            if (magnitude < least.magnitude) continue;
            if (magnitude == least.magnitude) {
                if (ties == 0) continue;
                --ties;
            }
            places_.data()[to] = places_.data()[i];
            values_.data()[to++] = values_.data()[i];
        }
        return to;
    }

    top_k_search part_;
    magnitude_ranker ranker_;
    uninitialised<std::uint64_t> places_;
    uninitialised<float> values_;
};

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT

namespace sotto::kernels {
inline namespace SOTTO_UNIT {

SOTTO_DECL top_k_scratch::top_k_scratch() = default;
SOTTO_DECL top_k_scratch::top_k_scratch(const top_k_scratch& other)
    : search_(other.search_ ? std::make_unique<detail::kernels::top_k_search>(*other.search_)
                            : nullptr) {}
SOTTO_DECL top_k_scratch& top_k_scratch::operator=(const top_k_scratch& other) {
    return *this = top_k_scratch(other);
}
SOTTO_DECL top_k_scratch::top_k_scratch(top_k_scratch&&) noexcept = default;
SOTTO_DECL top_k_scratch& top_k_scratch::operator=(top_k_scratch&&) noexcept = default;
SOTTO_DECL top_k_scratch::~top_k_scratch() = default;

SOTTO_DECL void top_k_scratch::reserve(std::int64_t n, std::int64_t k) {
    detail::kernels::check_top_k(static_cast<std::size_t>(n), k, detail::kernels::narrow_max,
                                 "top_k_scratch::reserve");
    detail::kernels::insides::of(*this).reserve(static_cast<std::size_t>(n),
                                                static_cast<std::size_t>(k), false);
}

SOTTO_DECL void top_k_scratch::reserve_step(std::int64_t n, std::int64_t k) {
    detail::kernels::check_top_k(static_cast<std::size_t>(n), k, detail::kernels::narrow_max,
                                 "top_k_scratch::reserve_step");
    detail::kernels::insides::of(*this).reserve(static_cast<std::size_t>(n),
                                                static_cast<std::size_t>(k), true);
}

SOTTO_DECL wide_top_k_scratch::wide_top_k_scratch() = default;
SOTTO_DECL wide_top_k_scratch::wide_top_k_scratch(const wide_top_k_scratch& other)
    : search_(other.search_ ? std::make_unique<detail::kernels::wide_top_k_search>(*other.search_)
                            : nullptr) {}
SOTTO_DECL wide_top_k_scratch& wide_top_k_scratch::operator=(const wide_top_k_scratch& other) {
    return *this = wide_top_k_scratch(other);
}
SOTTO_DECL wide_top_k_scratch::wide_top_k_scratch(wide_top_k_scratch&&) noexcept = default;
SOTTO_DECL wide_top_k_scratch& wide_top_k_scratch::operator=(wide_top_k_scratch&&) noexcept =
    default;
SOTTO_DECL wide_top_k_scratch::~wide_top_k_scratch() = default;

SOTTO_DECL void wide_top_k_scratch::reserve(std::int64_t n, std::int64_t k) {
    detail::kernels::insides::of(*this).reserve(n, k);
}

SOTTO_DECL selection select_top_k(std::span<const float> values, std::int64_t k,
                                  top_k_scratch& scratch, nan_policy nans) {
    return detail::kernels::select(detail::kernels::whole(values), k,
                                   detail::kernels::insides::of(scratch), nullptr, nans);
}

SOTTO_DECL wide_selection select_top_k(std::span<const float> values, std::int64_t k,
                                       wide_top_k_scratch& scratch, nan_policy nans) {
    return detail::kernels::insides::of(scratch).run(values, k, nans);
}

SOTTO_DECL selection select_top_k(std::span<const float> values, std::int64_t k,
                                  top_k_scratch& scratch,
                                  detail::kernels::carried_threshold& carried, nan_policy nans) {
    const selection found = detail::kernels::select(
        detail::kernels::whole(values), k, detail::kernels::insides::of(scratch),
        detail::kernels::insides::guess_of(carried), nans);
    detail::kernels::insides::learn(carried, scratch, k);
    return found;
}

SOTTO_DECL selection select_above(std::span<const float> values, float limit,
                                  top_k_scratch& scratch) {
    detail::kernels::check_top_k(values.size(), 0, detail::kernels::narrow_max, "select_above");
    // Compares bits, which -ffast-math does not change.
    const auto bits = std::bit_cast<std::uint32_t>(limit);
    const bool is_minus_zero = bits == (1u << 31);
    if (bits > detail::kernels::infinity_bits && !is_minus_zero) [[unlikely]] {
        detail::kernels::refuse("select_above", detail::kernels::given("limit", limit),
                                "at least 0");
    }
    detail::kernels::top_k_search& search = detail::kernels::insides::of(scratch);
    search.run_above(detail::kernels::whole(values), detail::kernels::magnitude_of(limit));
    return {{search.places(), search.count()}, {search.values(), search.count()}};
}

}  // namespace SOTTO_UNIT
}  // namespace sotto::kernels
