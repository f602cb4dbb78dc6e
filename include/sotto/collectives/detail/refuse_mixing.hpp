#pragma once

#include <string>

namespace sotto::detail::collectives {

/// What another rank sent cannot be mixed; `where`: its first element that is not finite.
[[noreturn]] void refuse_mixing(int rank, const std::string& where);

}  // namespace sotto::detail::collectives

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/collectives/detail/refuse_mixing.ipp"
#endif
