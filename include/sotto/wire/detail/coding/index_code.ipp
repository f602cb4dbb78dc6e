#pragma once

#include "sotto/wire/detail/coding/index_code.hpp"

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "sotto/core/bytes.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/result.hpp"
#include "sotto/wire/detail/coding/bitmap_code.hpp"
#include "sotto/wire/detail/coding/bits.hpp"
#include "sotto/wire/detail/coding/gap_classes.hpp"
#include "sotto/wire/detail/coding/gap_statistics.hpp"
#include "sotto/wire/detail/coding/index_plan.hpp"
#include "sotto/wire/detail/coding/rice_code.hpp"

namespace sotto::detail::wire {

inline namespace SOTTO_UNIT {

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
        // In these two modes every entry takes at least one bit: refuse a short input before
        // reading any.
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

SOTTO_DECL coded_indices encode_indices(std::int64_t n, std::span<const std::uint32_t> indices,
                                        bytes& out) {
    return encode_indices<std::uint32_t>(n, indices, out);
}

SOTTO_DECL coded_indices encode_indices(std::int64_t n, std::span<const std::uint64_t> indices,
                                        bytes& out) {
    return encode_indices<std::uint64_t>(n, indices, out);
}

SOTTO_DECL result<index_mode> decode_indices(std::int64_t n, byte_view in,
                                             std::span<std::uint32_t> indices) noexcept {
    return decode_indices<std::uint32_t>(n, in, indices);
}

SOTTO_DECL result<index_mode> decode_indices(std::int64_t n, byte_view in,
                                             std::span<std::uint64_t> indices) noexcept {
    return decode_indices<std::uint64_t>(n, in, indices);
}

SOTTO_DECL std::int64_t index_code_bits_max(std::int64_t n, std::int64_t k) noexcept {
    std::int64_t least = n;
    for (int b = 0; b <= rice_code::shift_max; ++b)
        least = (std::min)(least, rice_code::header_bits + k * (b + 1) + ((n - k) >> b));
    return mode_bits + least;
}

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::wire
