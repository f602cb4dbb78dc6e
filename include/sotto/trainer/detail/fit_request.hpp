#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "sotto/core/describe.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/require_option.hpp"
#include "sotto/trainer/checkpoints.hpp"
#include "sotto/trainer/options.hpp"

namespace sotto::detail {

template <class Extra>
void request_evaluation(description& text, const Extra& extra) {
    if constexpr (is_evaluation<Extra>) {
        require_option("evaluate_on", "every", extra.every, allowed::at_least(1));
        text.add("evaluate_on.every", extra.every);
        text.add("evaluate_on.own", extra.own);
        text.add("evaluate_on.examples", static_cast<std::int64_t>(extra.data.size()));
    }
}

template <class Extra>
void request_checkpoints(description& text, const Extra& extra) {
    if constexpr (is_checkpoints<Extra>) {
        text.add("checkpoints.every_steps", extra.chosen().every_steps);
        text.add("checkpoints.every_epochs", extra.chosen().every_epochs);
    }
}

/// What ranks that learn in step must ask of `fit` alike, as lines of "name = value": otherwise one
/// would train, or evaluate, while another is done and waits for nobody. Callbacks are each rank's
/// own.
///   errors  invalid_option: an evaluation every 0 epochs
template <class Data, class... Extras>
std::string fit_request(const Data& data, bool own_data, const training_length& length,
                        const Extras&... extras) {
    constexpr auto unbounded = (std::numeric_limits<std::int64_t>::max)();
    const auto bound = [](std::int64_t n) {
        return n == unbounded ? std::optional<std::int64_t>() : n;
    };
    description text;
    text.add("fit.epochs", bound(length.epochs_max)).add("fit.steps", bound(length.steps_max));
    text.add("fit.own_share", own_data);
    if (!own_data) text.add("fit.examples", static_cast<std::int64_t>(data.size()));
    (request_evaluation(text, extras), ...);
    (request_checkpoints(text, extras), ...);
    return text.text();
}

}  // namespace sotto::detail
