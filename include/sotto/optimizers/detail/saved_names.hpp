#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sotto/core/layout.hpp"

namespace sotto::detail {

/// What each tensor's memory is called where it is shown, put together once: strategies that step
/// before they know whether the step takes place look at it in every step.
class saved_names {
public:
    saved_names(std::string_view prefix, const layout& tensors);

    const std::string& of(const tensor& t) const noexcept;

private:
    std::vector<std::string> names_;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/optimizers/detail/saved_names.ipp"
#endif
