#pragma once

#include "sotto/optimizers/detail/saved_names.hpp"

#include <cstddef>

#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL saved_names::saved_names(std::string_view prefix, const layout& tensors) {
    for (const tensor& t : tensors) names_.push_back(std::string(prefix) + t.name);
}

SOTTO_DECL const std::string& saved_names::of(const tensor& t) const noexcept {
    return names_[static_cast<std::size_t>(t.index)];
}

}  // namespace sotto::detail
