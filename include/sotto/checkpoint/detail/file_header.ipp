#pragma once

#include "sotto/checkpoint/detail/file_header.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/memory/sort_stably.hpp"

namespace sotto::detail::checkpoint {

SOTTO_DECL std::string_view name_of(dtype type) noexcept {
    return dtypes[static_cast<std::size_t>(type)].name;
}

SOTTO_DECL std::int64_t bytes_of_element(dtype type) noexcept {
    return dtypes[static_cast<std::size_t>(type)].bytes;
}

SOTTO_DECL std::optional<dtype> dtype_named(std::string_view name) noexcept {
    for (std::size_t i = 0; i < dtypes.size(); ++i)
        if (dtypes[i].name == name) return static_cast<dtype>(i);
    return std::nullopt;
}

SOTTO_DECL const std::string* file_header::metadata_named(std::string_view name) const noexcept {
    for (const auto& [key, value] : metadata)
        if (key == name) return &value;
    return nullptr;
}

SOTTO_DECL entry_index::entry_index(const file_header& header)
    : header_(&header), order_(header.tensors.size()) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    sotto::detail::sort_stably(order_,
                               [&](std::size_t a, std::size_t b) { return name(a) < name(b); });
}

SOTTO_DECL std::optional<std::size_t> entry_index::find(std::string_view wanted) const noexcept {
    const auto found =
        std::lower_bound(order_.begin(), order_.end(), wanted,
                         [&](std::size_t a, std::string_view b) { return name(a) < b; });
    if (found == order_.end() || name(*found) != wanted) return std::nullopt;
    return *found;
}

SOTTO_DECL std::optional<std::size_t> entry_index::duplicate() const noexcept {
    for (std::size_t i = 1; i < order_.size(); ++i)
        if (name(order_[i - 1]) == name(order_[i])) return order_[i];
    return std::nullopt;
}

}  // namespace sotto::detail::checkpoint
