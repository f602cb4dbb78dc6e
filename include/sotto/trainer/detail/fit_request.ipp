#pragma once

#include "sotto/trainer/detail/fit_request.hpp"

#include <limits>
#include <optional>

#include "sotto/core/config.hpp"
#include "sotto/core/describe.hpp"
#include "sotto/core/require_option.hpp"

namespace sotto::detail {

SOTTO_DECL std::string fit_request(std::int64_t examples, bool own_data,
                                   const training_length& length,
                                   std::span<const fit_argument> arguments) {
    constexpr auto unbounded = (std::numeric_limits<std::int64_t>::max)();
    const auto bound = [](std::int64_t n) {
        return n == unbounded ? std::optional<std::int64_t>() : n;
    };
    description text;
    text.add("fit.epochs", bound(length.epochs_max)).add("fit.steps", bound(length.steps_max));
    text.add("fit.local_data", own_data);
    if (!own_data) text.add("fit.examples", examples);
    for (const fit_argument& a : arguments) {
        if (!a.evaluate) continue;
        require_option("evaluate_on", "every", a.every, allowed::at_least(1));
        text.add("evaluate_on.every", a.every);
        text.add("evaluate_on.own", a.evaluates_own);
        text.add("evaluate_on.examples", a.examples);
    }
    for (const fit_argument& a : arguments) {
        if (!a.saves) continue;
        text.add("checkpoints.every_steps", a.saves->chosen().every_steps);
        text.add("checkpoints.every_epochs", a.saves->chosen().every_epochs);
    }
    return text.text();
}

}  // namespace sotto::detail
