#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "sotto/core/bytes.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/result.hpp"
#include "sotto/wire/detail/coding/bitmap_code.hpp"
#include "sotto/wire/detail/coding/bits.hpp"
#include "sotto/wire/detail/coding/gap_classes.hpp"
#include "sotto/wire/detail/coding/gap_survey.hpp"
#include "sotto/wire/detail/coding/rice_code.hpp"

namespace sotto::detail::wire {

/// How the indices of one block are written. The numbers are part of the wire format.
///   run      indices that follow each other: the first one
///   rice     see rice_code
///   classes  see class_code
///   bitmap   see bitmap_code
enum class index_mode : std::uint8_t { run = 0, rice = 1, classes = 2, bitmap = 3 };

/// What encode_indices chose, and the bits it took before the last byte was filled.
struct coded_indices {
    index_mode mode = index_mode::run;  // the code
    std::int64_t bits = 0;              // exactly
};

inline namespace SOTTO_UNIT {

/// Elements of the largest tensor.
inline constexpr std::int64_t index_code_n_max = std::int64_t{1} << 40;

inline constexpr int mode_bits = 2;

/// Bits for the first index of a run: it has n - k + 1 places.
constexpr int run_bits(std::int64_t n, std::size_t k) noexcept {
    return k == 0 ? 0 : static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n) - k));
}

/// There is nothing to say about no element, nor about all of them.
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

// Fewer entries cannot pay for the lengths of a prefix code.
inline constexpr std::size_t classes_k_min = 16;
// From here on finer classes are tried too: they cost some 150 bits more to describe.
inline constexpr std::size_t fine_classes_k_min = 1024;
inline constexpr gap_classes coarse_classes{1};

/// The mode that a list is written in, with what that mode needs to know.
struct index_plan {
    coded_indices best;
    rice_code rice;
    class_code classes;
};

// Prices the four modes.
//   errors  invalid_option, as encode_indices
template <std::unsigned_integral Index>
index_plan plan_of(std::int64_t n, std::span<const Index> indices) {
    require_size<Index>(n);
    const std::size_t k = indices.size();
    index_plan plan;
    if (k == 0) return plan;
    require_rising(indices.back() < static_cast<std::uint64_t>(n), n);
    const gap_survey survey(
        indices, k < fine_classes_k_min ? coarse_classes : gap_counts::finest,
        k < classes_k_min ? gap_survey::counting::no : gap_survey::counting::yes);
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

template <std::unsigned_integral Index>
coded_indices encode_indices(std::int64_t n, std::span<const Index> indices, bytes& out) {
    return write_indices(plan_of(n, indices), n, indices, out);
}

template <std::unsigned_integral Index>
result<std::span<Index>> read_run(std::int64_t n, bit_reader& in,
                                  std::span<Index> indices) noexcept {
    const std::uint64_t first = in.take(run_bits(n, indices.size()));
    if (first > static_cast<std::uint64_t>(n) - indices.size())
        return in.because("a run that ends inside the tensor", first);
    for (std::size_t i = 0; i < indices.size(); ++i) indices[i] = static_cast<Index>(first + i);
    return indices;
}

template <std::unsigned_integral Index>
result<index_mode> decode_indices(std::int64_t n, byte_view in, std::span<Index> indices) noexcept {
    const std::size_t k = indices.size();
    if (!index_fits<Index>(n))
        return fault{0, "a tensor whose elements the index type can number", n};
    if (k > static_cast<std::size_t>(n))
        return fault{0, "at most as many entries as elements", static_cast<std::int64_t>(k)};

    bit_reader reader(in);
    auto mode = index_mode::run;
    if (!is_implied(n, k)) {
        mode = static_cast<index_mode>(reader.take(mode_bits));
        // Every entry takes a bit in these two: a short input is refused before any is read.
        if ((mode == index_mode::rice || mode == index_mode::classes) &&
            reader.bits_left() < static_cast<std::int64_t>(k))
            return reader.because("at least a bit for every entry", k);
    }
    const auto read = [&]() -> result<std::span<Index>> {
        switch (mode) {
            case index_mode::run: return read_run(n, reader, indices);
            case index_mode::rice: return rice_code::read(n, reader, indices);
            case index_mode::classes: return class_code::read(n, reader, indices);
            case index_mode::bitmap: break;
        }
        return bitmap_code::read(n, reader, indices);
    }();
    if (!read) return read.why();
    if (!reader.finished())
        return reader.because("an index code that ends with the input, filled up with zeros", 0);
    return mode;
}

/// Appends the code of k strictly increasing indices below n. The receiver knows n and k.
///
/// Four ways to write a block are priced exactly, and the cheapest is taken:
///   run      k neighbours: the first index
///   rice     gaps (elements left out before each entry) by quotient and remainder: any few entries
///   classes  gaps by a Huffman code of their size class, and raw bits: any structure, and none
///   bitmap   n bits
///
///   math    Among gaps with a given mean the geometric law, which is that of random indices, has
///           the largest entropy, and k times that is log2 C(n,k) up to O(log n). The class code
///           takes, but for what Huffman loses to whole bits, k times the entropy of the gaps after
///           each class was levelled out. Levelling moves the mean up by at most 2^-(fine + 1) of
///           it, so whatever the indices look like, no more than log2(1 + 2^-(fine + 1)) bits an
///           entry go on top: 0.09 for fine = 3. Structure only lowers the rest.
///   wire    2 bits mode, then as the mode's header says, zero bits up to a byte; nothing at all
///           if k = 0 or k = n
///   cost    about 2 ns an entry and, to choose among the codes, 0.5 us (2 us from 1024 entries
///           on); no memory but 20 KB of stack and what `out` needs
///   errors  invalid_option: n above 2^40 (2^32 with 32-bit indices), indices that do not rise or
///           reach n
inline coded_indices encode_indices(std::int64_t n, std::span<const std::uint32_t> indices,
                                    bytes& out) {
    return encode_indices<std::uint32_t>(n, indices, out);
}

/// The same for tensors of more than 2^32 elements.
inline coded_indices encode_indices(std::int64_t n, std::span<const std::uint64_t> indices,
                                    bytes& out) {
    return encode_indices<std::uint64_t>(n, indices, out);
}

/// Decodes exactly indices.size() indices from all of `in`: strictly increasing, below n.
///   cost    about 2.6 ns an entry, and 0.6 us for the table of the class code; 10 KB of stack
///   errors  refuses what ends early or late, leaves [0, n), or does not follow its mode's rules;
///           what `indices` holds is then unspecified
inline result<index_mode> decode_indices(std::int64_t n, byte_view in,
                                         std::span<std::uint32_t> indices) noexcept {
    return decode_indices<std::uint32_t>(n, in, indices);
}

/// The same into 64 bits, for tensors of up to 2^40 elements.
inline result<index_mode> decode_indices(std::int64_t n, byte_view in,
                                         std::span<std::uint64_t> indices) noexcept {
    return decode_indices<std::uint64_t>(n, in, indices);
}

/// A bound on the bits of encode_indices for any k indices below n; never falls as k grows.
///   math    2 + min(n, 6 + min over b of k (b + 1) + floor((n - k) / 2^b)): the bitmap and Rice's
///           code were both priced, and gaps sum to at most n - k. One more entry adds b + 1 and
///           takes off at most 1
constexpr std::int64_t index_code_bits_max(std::int64_t n, std::int64_t k) noexcept {
    std::int64_t least = n;
    for (int b = 0; b <= rice_code::shift_max; ++b)
        least = (std::min)(least, rice_code::header_bits + k * (b + 1) + ((n - k) >> b));
    return mode_bits + least;
}

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::wire
