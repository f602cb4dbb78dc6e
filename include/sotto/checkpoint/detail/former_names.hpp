#pragma once

#include <string>
#include <string_view>

namespace sotto::detail::checkpoint {

/// Returns a configuration text in which current names replace former names of options and types.
/// So a run resumes from checkpoints of earlier versions. Lines are as detail::description writes
/// them.
std::string with_current_names(std::string_view configuration);

}  // namespace sotto::detail::checkpoint

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/checkpoint/detail/former_names.ipp"
#endif
