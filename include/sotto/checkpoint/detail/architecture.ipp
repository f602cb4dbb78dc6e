#pragma once

#include "sotto/checkpoint/detail/architecture.hpp"

#include <cstdint>
#include <span>
#include <string>

#include "sotto/core/config.hpp"

namespace sotto::detail::checkpoint {

SOTTO_DECL digest architecture::identity() const {
    std::string text = description;
    for (const layout* tensors : {&parameters, &buffers}) {
        text += '\f';
        for (const tensor& t : *tensors) {
            text.append(t.name);
            for (const std::int64_t extent : t.shape) (text += ' ') += std::to_string(extent);
            text += '\n';
        }
    }
    return digest_of(std::as_bytes(std::span(text)));
}

}  // namespace sotto::detail::checkpoint
