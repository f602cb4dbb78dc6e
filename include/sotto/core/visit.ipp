#pragma once

#include "sotto/core/visit.hpp"

#include <algorithm>

#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL joined_names::joined_names(std::string_view prefix, std::string_view name)
    : size_(prefix.size() + name.size()) {
    if (size_ > short_.size()) {
        long_.append(prefix).append(name);
        return;
    }
    std::ranges::copy(name, std::ranges::copy(prefix, short_.begin()).out);
}

SOTTO_DECL joined_names::operator std::string_view() const noexcept {
    return size_ > short_.size() ? std::string_view(long_) : std::string_view(short_.data(), size_);
}

}  // namespace sotto::detail

namespace sotto {

SOTTO_DECL detail::joined_names joined_name(std::string_view prefix, std::string_view name) {
    return {prefix, name};
}

}  // namespace sotto
