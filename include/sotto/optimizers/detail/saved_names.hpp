#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "sotto/core/layout.hpp"

namespace sotto::detail {

/// What each tensor's memory is called where it is shown, put together once: strategies that step
/// before they know whether the step takes place look at it in every step.
class saved_names {
public:
    saved_names(std::string_view prefix, const layout& tensors) {
        for (const tensor& t : tensors) names_.push_back(std::string(prefix) + t.name);
    }

    const std::string& of(const tensor& t) const noexcept {
        return names_[static_cast<std::size_t>(t.index)];
    }

private:
    std::vector<std::string> names_;
};

}  // namespace sotto::detail
