#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sotto/checkpoint/detail/architecture.hpp"
#include "sotto/checkpoint/detail/file_header.hpp"

namespace sotto::detail::checkpoint {

/// All that a model has learnt.
struct model_values {
    architecture kind{};              // names and shapes
    std::vector<float> parameters{};  // as kind.parameters names them
    std::vector<float> buffers{};     // as kind.buffers names them; none of a model without
    /// Of a file that another program wrote: all tensors are among the parameters, buffers too, in
    /// the order of the file.
    bool by_name = false;
    std::vector<std::pair<std::string, dtype>> other_types{};  // tensors of the file that are none
};

}  // namespace sotto::detail::checkpoint
