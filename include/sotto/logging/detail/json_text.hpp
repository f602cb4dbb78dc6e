#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace sotto::detail {

bool has_non_finite(const nlohmann::ordered_json& value);

/// Replaces numbers that are not finite by null, because JSON has none. The JSON library does so
/// itself, except in a unit that is compiled with -ffast-math.
void drop_non_finite(nlohmann::ordered_json& value);

/// Returns an object as one line of JSON that is safe to print. Numbers that are not finite are
/// null. Bytes that are not UTF-8 are replaced. Control characters of terminals are escaped, even
/// where JSON allows them, because a path or a cause may contain anything.
std::string json_text(const nlohmann::ordered_json& object);

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/logging/detail/json_text.ipp"
#endif
