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
                                   std::span<const fit_listener> listeners) {
    constexpr auto unbounded = (std::numeric_limits<std::int64_t>::max)();
    const auto bound = [](std::int64_t n) {
        return n == unbounded ? std::optional<std::int64_t>() : n;
    };
    description text;
    text.add("fit.epochs", bound(length.epochs_max)).add("fit.steps", bound(length.steps_max));
    text.add("fit.own_share", own_data);
    if (!own_data) text.add("fit.examples", examples);
    for (const fit_listener& l : listeners) {
        if (!l.evaluates) continue;
        require_option("evaluate_on", "every", l.every, allowed::at_least(1));
        text.add("evaluate_on.every", l.every);
        text.add("evaluate_on.own", l.evaluates_own);
        text.add("evaluate_on.examples", l.examples);
    }
    for (const fit_listener& l : listeners) {
        if (!l.saves) continue;
        text.add("checkpoints.every_steps", l.saves->chosen().every_steps);
        text.add("checkpoints.every_epochs", l.saves->chosen().every_epochs);
    }
    return text.text();
}

}  // namespace sotto::detail
