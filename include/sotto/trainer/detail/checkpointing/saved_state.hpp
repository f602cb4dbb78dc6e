#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sotto/checkpoint/detail/digest.hpp"
#include "sotto/checkpoint/detail/saved_fields.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/core/visit.hpp"
#include "sotto/models/gradient_source.hpp"
#include "sotto/trainer/detail/fit_progress.hpp"

namespace sotto::detail {

/// A strategy's state that can be saved.
template <class State>
concept shows_its_state = requires(State& state, field_visitor field) {
    state.visit(field);
};

/// `alike`: whether all ranks hold the same parameters.
template <class Model, shows_its_state State>
saved_fields fields_of(Model& model, State& state, std::span<float> parameters, bool alike,
                       learnt_so_far& learnt) {
    saved_fields fields;
    const auto tensors = [](const layout& all, std::span<float> values, const char* prefix = "") {
        std::vector<saved_field> list;
        for (const tensor& t : all)
            list.push_back({prefix + t.name, t.shape, checkpoint::dtype::f32,
                            std::as_writable_bytes(t.of(values))});
        return list;
    };
    if (alike)
        fields.parameters = tensors(model.layout(), parameters);
    else
        fields.apart = tensors(model.layout(), parameters, "parameters/");
    fields.of_one_world = !alike;
    if constexpr (with_buffers<Model>)
        fields.buffers = tensors(model.buffer_layout(), model.buffers());
    const field_visitor show(fields);
    state.visit(show);
    show("epoch/loss", learnt.loss, kept::apart);
    show("epoch/examples", learnt.examples, kept::apart);
    return fields;
}

/// The digest of names, types and shapes.
checkpoint::digest digest_of_names(const saved_fields& fields);

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/trainer/detail/checkpointing/saved_state.ipp"
#endif
