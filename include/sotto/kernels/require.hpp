#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>

#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"

namespace sotto::kernels::inline SOTTO_UNIT {

/// What a refusal says: which function, what it was given, and what it asks for.
[[noreturn]] inline void refuse(const char* function, const std::string& given,
                                const std::string& expected) {
    throw invalid_option(std::string(function) + ": " + given + "; expected " + expected);
}

/// Refuses a call that would read or write beyond its arrays. It stays on in every build: it costs
/// one comparison a call.
///   errors  invalid_option, which names the function and what it asks for
inline void require(bool holds, const char* function, const char* expected) {
    if (holds) [[likely]]
        return;
    throw invalid_option(std::string(function) + ": " + expected);
}

namespace detail {
/// An argument's name and its size.
struct sized {
    const char* name;
    std::size_t size;
};
}  // namespace detail

/// The same for arrays that must have the size of the first.
inline void require_size_of(const detail::sized& first, std::initializer_list<detail::sized> others,
                            const char* function) {
    for (const detail::sized& other : others)
        if (other.size != first.size) [[unlikely]]
            refuse(function,
                   std::string("the size of ") + other.name + " is " + std::to_string(other.size),
                   std::to_string(first.size) + ", the size of " + first.name);
}

}  // namespace sotto::kernels::inline SOTTO_UNIT
