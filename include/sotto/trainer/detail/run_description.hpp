#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "sotto/core/describe.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/trainer/options.hpp"

namespace sotto::detail {

/// Returns the text of everything that ranks of one training have in common. Ranks compare it, and
/// logs begin with it.
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

/// Calls use(name, value) for each option of a description, except tensors.
template <class Use>
void for_each_option(std::string_view description, Use use) {
    while (!description.empty()) {
        const std::string_view line = description.substr(0, description.find('\n'));
        description.remove_prefix((std::min)(line.size() + 1, description.size()));
        const std::size_t middle = line.find(" = ");
        if (middle != line.npos && !line.starts_with("tensor "))
            use(line.substr(0, middle), line.substr(middle + 3));
    }
}

}  // namespace sotto::detail
