#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace sotto::detail {

bool has_non_finite(const nlohmann::ordered_json& value);

/// Numbers that are not finite become null, as JSON has none. The library writes them so, too, but
/// not in a unit that is compiled with -ffast-math.
void drop_non_finite(nlohmann::ordered_json& value);

/// An object as one line of JSON that is safe to print. A number that is not finite is null. Bytes
/// that are not UTF-8 are replaced, and what a terminal would act on is escaped, also where JSON
/// allows it: a path or a cause may hold anything.
std::string json_text(const nlohmann::ordered_json& object);

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/logging/detail/json_text.ipp"
#endif
