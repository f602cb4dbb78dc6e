#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sotto/core/bytes.hpp"
#include "sotto/core/result.hpp"
#include "sotto/wire/detail/coding/little_endian.hpp"

namespace sotto::testing {

/// The format whose sizes the paper on Deep Gradient Compression reports, to compare with.
///   wire    per entry: 2 bytes, zeros before it (0..65535); 4 bytes, its value. More zeros than
///           that take an entry of value 0 for every 65536 positions. Entries of the tensor that
///           are 0 are left out
///   source  Lin et al. 2018, section 3.1
struct run_length_code {
    static constexpr std::uint64_t run_max = 65535;

    /// Appends the entries at strictly increasing indices; returns how many entries of value 0 had
    /// to be added.
    static std::int64_t encode(std::span<const std::uint32_t> indices,
                               std::span<const float> values, bytes& out) {
        std::int64_t fillers = 0;
        std::uint64_t next = 0;
        for (std::size_t i = 0; i < indices.size(); ++i) {
            for (; indices[i] - next > run_max; next += run_max + 1, ++fillers)
                put(run_max, 0.0f, out);
            put(indices[i] - next, values[i], out);
            next = std::uint64_t{indices[i]} + 1;
        }
        return fillers;
    }

    /// The entries that are not 0, with their places below n.
    static result<std::vector<std::pair<std::uint32_t, float>>> decode(byte_view in,
                                                                       std::uint64_t n) {
        if (in.size() % 6 != 0)
            return detail::fault{0, "entries of 6 bytes", static_cast<std::int64_t>(in.size())};
        std::vector<std::pair<std::uint32_t, float>> entries;
        std::uint64_t next = 0;
        for (std::size_t at = 0; at < in.size(); at += 6) {
            next += detail::wire::load_little_endian<std::uint16_t>(&in[at]);
            if (next >= n)
                return detail::fault{static_cast<std::int64_t>(at),
                                     "an index below the tensor's size",
                                     static_cast<std::int64_t>(next)};
            const auto value =
                std::bit_cast<float>(detail::wire::load_little_endian<std::uint32_t>(&in[at + 2]));
            if (value != 0.0f) entries.emplace_back(static_cast<std::uint32_t>(next), value);
            ++next;
        }
        return entries;
    }

private:
    static void put(std::uint64_t run, float value, bytes& out) {
        const std::size_t at = out.size();
        out.resize(at + 6);
        detail::wire::store_little_endian(&out[at], static_cast<std::uint16_t>(run));
        detail::wire::store_little_endian(&out[at + 2], std::bit_cast<std::uint32_t>(value));
    }
};

}  // namespace sotto::testing
