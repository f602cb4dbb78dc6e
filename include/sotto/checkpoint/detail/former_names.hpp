#pragma once

#include <string>
#include <string_view>

namespace sotto::detail::checkpoint {

/// A configuration text with today's names of options and types in place of those they had in
/// earlier versions, so that a run resumes from checkpoints of these versions. Lines are as
/// detail::description writes them.
std::string with_current_names(std::string_view configuration);

}  // namespace sotto::detail::checkpoint

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/checkpoint/detail/former_names.ipp"
#endif
