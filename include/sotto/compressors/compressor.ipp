#pragma once

#include "sotto/compressors/compressor.hpp"

#include "sotto/core/config.hpp"

namespace sotto::detail::compressing {

SOTTO_DECL const layout& no_tensors() {
    static const layout none;
    return none;
}

}  // namespace sotto::detail::compressing
