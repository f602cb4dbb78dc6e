#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "sotto/core/errors.hpp"

namespace sotto::detail {

/// Why a parser refused bytes: where, what was expected, what was found. It owns no memory, so a
/// parser can refuse without allocating.
struct fault {
    std::int64_t offset = 0;           // bytes from the start of the parsed input
    const char* expected = "";         // a literal, such as "an index below the tensor's size"
    std::int64_t found = 0;            // value that was found instead
    std::int64_t expected_count = -1;  // number before `expected` in the text; below 0: none

    /// Value of `found` if the input ended.
    static constexpr std::int64_t end = (std::numeric_limits<std::int64_t>::min)();

    /// Returns the fault as a sentence, without the name of the parsed input.
    std::string text() const;
};

}  // namespace sotto::detail

namespace sotto {

/// Bytes that do not follow their format. No part of them took effect.
class malformed : public error {
public:
    /// `where` names the parsed input.
    malformed(const std::string& where, const detail::fault& why)
        : error(errc::malformed, where + ": " + why.text()), why_(why) {}

    /// Returns where in the bytes the fault is, what was expected and what was found.
    const detail::fault& why() const noexcept { return why_; }

private:
    detail::fault why_;
};

}  // namespace sotto

namespace sotto::detail {

/// Bytes of another rank that do not follow their format.
class malformed_message : public malformed {
public:
    /// `rank` sent the input that `where` names.
    malformed_message(int rank, const std::string& where, const fault& why)
        : malformed(where, why), rank_(rank) {}
    /// Same text, when the rank is known.
    malformed_message(int rank, const malformed& what) : malformed(what), rank_(rank) {}

    /// Returns the rank that sent the bytes.
    int rank() const noexcept { return rank_; }

private:
    int rank_;
};

}  // namespace sotto::detail

namespace sotto {

/// Result of a pure parser: a value, or the fault that made it refuse. `value()` throws
/// `malformed`; `*r` requires that `r` holds a value.
template <class T>
class [[nodiscard]] result {
public:
    /// Holds the parsed value.
    result(T value) : held_(std::in_place_index<0>, std::move(value)) {}
    /// Holds the fault.
    result(detail::fault why) : held_(std::in_place_index<1>, why) {}

    /// True if there is a value.
    explicit operator bool() const noexcept { return held_.index() == 0; }
    /// Returns the value, which must exist.
    T& operator*() & noexcept { return *std::get_if<0>(&held_); }
    /// Returns the value, which must exist.
    const T& operator*() const& noexcept { return *std::get_if<0>(&held_); }
    /// Accesses a member of the value, which must exist.
    T* operator->() noexcept { return std::get_if<0>(&held_); }
    /// Accesses a member of the value, which must exist.
    const T* operator->() const noexcept { return std::get_if<0>(&held_); }
    /// Returns the fault; requires that there is no value.
    const detail::fault& why() const noexcept { return *std::get_if<1>(&held_); }

    /// Returns the value, or throws malformed. `where` names the parsed input: a text, or a
    /// function that makes the text and is called only on failure.
    template <class Where>
    T value(Where&& where) && {
        if (!*this) {
            if constexpr (std::is_invocable_v<Where&>)
                throw malformed(where(), why());
            else
                throw malformed(where, why());
        }
        return std::move(**this);
    }

private:
    std::variant<T, detail::fault> held_;
};

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/core/result.ipp"
#endif
