#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "sotto/core/bytes.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/wire/detail/coding/bitmap_code.hpp"
#include "sotto/wire/detail/coding/bits.hpp"
#include "sotto/wire/detail/coding/coded_indices.hpp"
#include "sotto/wire/detail/coding/gap_classes.hpp"
#include "sotto/wire/detail/coding/gap_statistics.hpp"
#include "sotto/wire/detail/coding/rice_code.hpp"

namespace sotto::detail::wire {

inline namespace SOTTO_UNIT {

inline constexpr int mode_bits = 2;

/// Returns the bits for the first index of a run, which has n - k + 1 possible places.
constexpr int run_bits(std::int64_t n, std::size_t k) noexcept {
    return k == 0 ? 0 : static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n) - k));
}

/// True if the list needs no bits: no element or all elements.
constexpr bool is_implied(std::int64_t n, std::size_t k) noexcept {
    return k == 0 || k == static_cast<std::size_t>(n);
}

template <std::unsigned_integral Index>
constexpr bool index_fits(std::int64_t n) noexcept {
    return n >= 0 && n <= (sizeof(Index) == 4 ? std::int64_t{1} << 32 : index_code_n_max);
}

template <std::unsigned_integral Index>
void require_size(std::int64_t n) {
    if (!index_fits<Index>(n))
        throw invalid_option("encode_indices: a tensor of " + std::to_string(n) +
                             " elements; at most 2^" +
                             (sizeof(Index) == 4 ? "32 with 32-bit indices" : "40"));
}

inline void require_rising(bool rising, std::int64_t n) {
    if (!rising)
        throw invalid_option("encode_indices: indices must rise strictly and be below " +
                             std::to_string(n));
}

// Fewer entries do not pay for the lengths of a prefix code.
inline constexpr std::size_t classes_k_min = 16;

// From this number on, finer classes are considered too: their description takes about 150 bits
// more.
inline constexpr std::size_t fine_classes_k_min = 1024;

inline constexpr gap_classes coarse_classes{1};

/// The mode of a list and the data that this mode needs.
struct index_plan {
    coded_indices best;
    rice_code rice;
    class_code classes;
};

// Computes the sizes of the four modes and chooses the smallest.
//   errors  invalid_option, as encode_indices
template <std::unsigned_integral Index>
index_plan plan_of(std::int64_t n, std::span<const Index> indices) {
    require_size<Index>(n);
    const std::size_t k = indices.size();
    index_plan plan;
    if (k == 0) return plan;
    require_rising(indices.back() < static_cast<std::uint64_t>(n), n);
    const gap_statistics survey(
        indices, k < fine_classes_k_min ? coarse_classes : gap_counts::finest,
        k < classes_k_min ? gap_statistics::counting::no : gap_statistics::counting::yes);
    require_rising(survey.rises(), n);
    if (is_implied(n, k)) return plan;

    plan.best = {index_mode::bitmap, n};
    const auto consider = [&](index_mode mode, std::int64_t bits) {
        if (bits < plan.best.bits) plan.best = {mode, bits};
    };
    plan.rice = rice_code::of(indices, survey);
    consider(index_mode::rice, plan.rice.bits);
    if (k >= classes_k_min) {
        gap_counts counts(survey);
        plan.classes = class_code::of(counts);
        if (k >= fine_classes_k_min) {
            counts.coarsen(coarse_classes);
            const class_code coarse = class_code::of(counts);
            if (coarse.bits < plan.classes.bits) plan.classes = coarse;
        }
        consider(index_mode::classes, plan.classes.bits);
    }
    const bool is_run = indices.back() - indices.front() + 1 == k;
    if (is_run) consider(index_mode::run, run_bits(n, k));
    plan.best.bits += mode_bits;
    return plan;
}

template <std::unsigned_integral Index>
coded_indices write_indices(const index_plan& plan, std::int64_t n, std::span<const Index> indices,
                            bytes& out) {
    const std::size_t k = indices.size();
    if (is_implied(n, k)) return plan.best;
    bit_writer writer(out, plan.best.bits);
    writer.put(static_cast<std::uint64_t>(plan.best.mode), mode_bits);
    switch (plan.best.mode) {
        case index_mode::run: writer.put(indices.front(), run_bits(n, k)); break;
        case index_mode::rice: plan.rice.write(indices, writer); break;
        case index_mode::classes: plan.classes.write(indices, writer); break;
        case index_mode::bitmap: bitmap_code::write(n, indices, writer); break;
    }
    writer.finish();
    return plan.best;
}

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::wire
