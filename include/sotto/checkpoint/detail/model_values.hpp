#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sotto/checkpoint/detail/architecture.hpp"
#include "sotto/checkpoint/detail/file_header.hpp"

namespace sotto::detail::checkpoint {

/// Everything that a model has learnt.
struct model_values {
    architecture kind{};              // names and shapes
    std::vector<float> parameters{};  // in the order of kind.parameters
    std::vector<float> buffers{};     // in the order of kind.buffers; empty if the model has none
    /// True if another program wrote the file. Then all tensors, even buffers, are parameters, in
    /// the order of the file.
    bool by_name = false;
    std::vector<std::pair<std::string, dtype>> other_types{};  // tensors of unusable types
};

}  // namespace sotto::detail::checkpoint
