#pragma once

#include <string>

namespace sotto::detail::collectives {

/// Throws an error of errc::non_finite: a rank sent values that cannot be mixed. `where` is its
/// first non-finite element.
[[noreturn]] void refuse_mixing(int rank, const std::string& where);

}  // namespace sotto::detail::collectives

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/collectives/detail/refuse_mixing.ipp"
#endif
