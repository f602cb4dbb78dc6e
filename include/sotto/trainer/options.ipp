#pragma once

#include "sotto/trainer/options.hpp"

#include <string>

#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/require_option.hpp"

namespace sotto {

SOTTO_DECL const training_options& training_options::checked() const {
    require_option("trainer", "batch_size", batch_size, detail::allowed::at_least(1));
    return *this;
}

}  // namespace sotto

namespace sotto::detail {

SOTTO_DECL std::int64_t training_length::checked(const char* unit, std::int64_t count) {
    if (count < 0)
        throw invalid_option(std::string("fit: asked for ") + std::to_string(count) + " " + unit +
                             "; expected at least 0");
    return count;
}

}  // namespace sotto::detail
