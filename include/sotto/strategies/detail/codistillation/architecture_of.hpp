#pragma once

#include <string>
#include <string_view>

#include "sotto/checkpoint/detail/architecture.hpp"
#include "sotto/core/describe.hpp"
#include "sotto/models/gradient_source.hpp"

namespace sotto::detail {

/// What a model consists of, as those who publish and read such models compare it: names and shapes
/// of its parameters and buffers, and what it says of itself. The loss that it learns by, and what
/// it begins with, are no part of that: it computes the same function with others.
template <class Model>
checkpoint::architecture architecture_of(const Model& model) {
    checkpoint::architecture kind;
    kind.parameters = model.layout();
    if constexpr (with_buffers<Model>) kind.buffers = model.buffer_layout();
    description text;
    if constexpr (describable<Model>) {
        const std::string_view type = local_name<Model>();
        text.add("model", type.substr(0, type.find('<')));
        model.describe([&](std::string_view name, const auto& value) {
            if (name != "loss" && name != "begins_with")
                text.add(std::string("model.").append(name), value);
        });
    } else {
        text.add("model", model);
    }
    kind.description = text.text();
    return kind;
}

}  // namespace sotto::detail
