#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sotto/core/layout.hpp"

namespace sotto::detail {

/// The tensors of a layout that one of several servers owns: a range of them, and so of the
/// parameters.
struct shard {
    std::size_t first = 0, last = 0;  // tensors, first to last - 1

    /// How many these are.
    std::size_t tensors() const noexcept { return last - first; }
    /// The tensors themselves.
    std::span<const tensor> of(const layout& all) const noexcept;
    /// Floats before them.
    std::int64_t begin_of(const layout& all) const noexcept;
    /// Floats of them.
    std::int64_t size_of(const layout& all) const noexcept;
    /// Their part of a span that holds all of the layout.
    template <class T>
    std::span<T> of(const layout& all, std::span<T> values) const noexcept {
        return values.subspan(static_cast<std::size_t>(begin_of(all)),
                              static_cast<std::size_t>(size_of(all)));
    }

    /// Its tensors as a layout of their own, by the same names.
    layout alone(const layout& all) const;

    /// A tensor's part of values that are of this shard alone.
    template <class T>
    std::span<T> own(const layout& all, const tensor& t, std::span<T> values) const noexcept {
        return values.subspan(static_cast<std::size_t>(t.offset - begin_of(all)),
                              static_cast<std::size_t>(t.size));
    }

    friend bool operator==(const shard&, const shard&) = default;
};

/// Ranges for so many servers, each about as large; a tensor is never divided. Some are empty where
/// there are fewer tensors.
std::vector<shard> shards_of(const layout& all, int servers);

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/detail/shard.ipp"
#endif
