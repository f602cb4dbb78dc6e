#pragma once

#include "sotto/trainer/detail/checkpointing/saved_run.hpp"

#include <vector>

#include "sotto/checkpoint/detail/saved_fields.hpp"
#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL std::vector<saved_field> tensors_of(const layout& all, std::span<float> values,
                                               const char* prefix) {
    std::vector<saved_field> list;
    for (const tensor& t : all)
        list.push_back({prefix + t.name, t.shape, checkpoint::dtype::f32,
                        std::as_writable_bytes(t.of(values))});
    return list;
}

SOTTO_DECL void show_parameters(saved_fields& to, const layout& tensors, std::span<float> values,
                                bool alike) {
    if (alike)
        to.parameters = tensors_of(tensors, values, "");
    else
        to.apart = tensors_of(tensors, values, "parameters/");
    to.of_one_world = !alike;
}

SOTTO_DECL void show_buffers(saved_fields& to, const layout& tensors, std::span<float> values) {
    to.buffers = tensors_of(tensors, values, "");
}

SOTTO_DECL void show_learnt(const field_visitor& show, learnt_so_far& learnt) {
    show("epoch/loss", learnt.loss, kept::apart);
    show("epoch/examples", learnt.examples, kept::apart);
}

}  // namespace sotto::detail
