#pragma once

#include <string>
#include <string_view>

namespace sotto::detail {

std::string_view next_line(std::string_view& text);

/// Says where the text of one rank departs from another's, line by line of "name = value"; empty if
/// it does not.
std::string difference(int rank, std::string_view theirs, int other,
                       std::string_view expected_of_it);

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/core/detail/memory/difference.ipp"
#endif
