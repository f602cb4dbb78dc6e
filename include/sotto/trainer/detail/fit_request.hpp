#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "sotto/trainer/detail/fit_argument.hpp"
#include "sotto/trainer/options.hpp"

namespace sotto::detail {

/// Returns the arguments of `fit` that must agree on ranks that learn in step, as lines of "name =
/// value". Otherwise one rank would train or evaluate while another one is done, and wait forever.
/// Callbacks may differ.
///   errors  invalid_option: evaluate_on::every is below 1
std::string fit_request(std::int64_t examples, bool own_data, const training_length& length,
                        std::span<const fit_argument> arguments);

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/trainer/detail/fit_request.ipp"
#endif
