#pragma once

#include "sotto/trainer/detail/checkpointing/saved_state.hpp"

#include "sotto/core/bytes.hpp"
#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL checkpoint::digest digest_of_names(const saved_fields& fields) {
    std::string text;
    for (const auto* part : {&fields.parameters, &fields.alike, &fields.buffers, &fields.apart}) {
        for (const saved_field& field : *part) {
            text.append(field.name).append(1, '\0').append(name_of(field.type));
            for (const std::int64_t extent : field.shape) (text += ' ') += std::to_string(extent);
            text += '\n';
        }
        text += '\f';
    }
    return checkpoint::digest_of(std::as_bytes(std::span(text)));
}

}  // namespace sotto::detail
