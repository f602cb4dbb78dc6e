#pragma once

#include <cstdint>
#include <string>

#include "sotto/core/describe.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/trainer/options.hpp"

namespace sotto::detail {

/// All that ranks which train together have in common, as text: they compare it, and logs begin
/// with it.
template <class Strategy, class Model>
std::string describe_run(const training_options& options, const Strategy& strategy,
                         const Model& model) {
    description text;
    text.add("trainer", options).add("strategy", strategy).add("model", model);
    for (const tensor& t : model.layout()) {
        std::string shape;
        for (const std::int64_t extent : t.shape)
            shape += (shape.empty() ? "" : " x ") + std::to_string(extent);
        text.add("tensor " + t.name, shape);
    }
    return text.text();
}

}  // namespace sotto::detail
