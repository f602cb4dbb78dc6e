#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/core/printable.hpp"
#include "sotto/models/gradient_source.hpp"

namespace sotto::detail {

/// Throws, before training, if no file could name the model's tensors: saving at the end would
/// fail. Returns the model.
///   cost    the names are sorted once
///   errors  invalid_option: a name that is not UTF-8, or that a parameter and a buffer share
template <class Model>
Model& require_names(Model& model) {
    std::vector<std::string_view> names;
    const auto take = [&](const layout& tensors) {
        for (const tensor& t : tensors) {
            if (!is_utf8(t.name))
                throw invalid_option("trainer: the model has a tensor named '" + printable(t.name) +
                                     "', which is not UTF-8; files of models and checkpoints need "
                                     "names in UTF-8");
            names.push_back(t.name);
        }
    };
    take(model.layout());
    if constexpr (with_buffers<Model>) {
        take(model.buffer_layout());
        std::ranges::sort(names);
        if (const auto twice = std::ranges::adjacent_find(names); twice != names.end())
            throw invalid_option("trainer: the model has a parameter and a buffer named '" +
                                 printable(*twice) +
                                 "'; files of models need a name for each: rename one of them");
    }
    return model;
}

}  // namespace sotto::detail
