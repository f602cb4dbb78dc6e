#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>

#include "sotto/core/config.hpp"
#include "sotto/core/describe.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/detail/memory/finite.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

/// Throws invalid_option with the function, the given value and the expected one.
[[noreturn]] inline void refuse(const char* function, const std::string& given,
                                const std::string& expected) {
    throw invalid_option(std::string(function) + ": " + given + "; expected " + expected);
}

/// Returns "name is value".
std::string given(std::string name, auto value) {
    name.append(" is ");
    sotto::detail::append_number(name, value);
    return name;
}

/// Returns "the size of name is size".
inline std::string given_size(const std::string& name, std::size_t size) {
    return given("the size of " + name, size);
}

/// Rejects a number that is not above 0, including NaN.
inline void require_above_0(const char* function, const char* name, const float& value) {
    if (is_nan(value) || value <= 0.0f) [[unlikely]]
        refuse(function, given(name, value), "above 0");
}

/// An argument's name and its size.
struct sized {
    const char* name;
    std::size_t size;
};

/// Rejects a call that would access memory beyond its arrays: all must have the size of the first.
/// Stays active in every build and costs one comparison for each.
///   errors  invalid_option, naming the function, both arrays and both sizes
inline void require_size_of(const sized& first, std::initializer_list<sized> others,
                            const char* function) {
    for (const sized& other : others)
        if (other.size != first.size) [[unlikely]]
            refuse(function, given_size(other.name, other.size),
                   std::to_string(first.size) + ", the size of " + first.name);
}

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT
