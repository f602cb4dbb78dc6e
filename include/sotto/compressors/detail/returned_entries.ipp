#pragma once

#include "sotto/compressors/detail/returned_entries.hpp"

#include <cstddef>

#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL void returned_entries::keep(const tensor& t,
                                       const kernels::sparse_values& entries) noexcept {
    of_[static_cast<std::size_t>(t.index)] = entries;
}

SOTTO_DECL void returned_entries::add_to(const layout& tensors, versioned_buffer& memory) noexcept {
    for (const tensor& t : tensors) {
        const kernels::sparse_values& entries = of_[static_cast<std::size_t>(t.index)];
        const auto values = memory.committed(t);
        for (std::size_t j = 0; j < entries.indices.size(); ++j)
            values[entries.indices[j]] += entries.values[j];
    }
    forget();
}

}  // namespace sotto::detail
