#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "sotto/core/errors.hpp"

namespace sotto::detail {

/// Why bytes were refused: where, what was expected, what was found. Holds no memory of its own, so
/// that a parser can refuse without allocating.
struct fault {
    std::int64_t offset = 0;           // bytes from the start of what was parsed
    const char* expected = "";         // a literal, such as "an index below the tensor's size"
    std::int64_t found = 0;            // the value that was found instead
    std::int64_t expected_count = -1;  // said before `expected`; below 0: no number of it was

    /// As `found`: nothing more.
    static constexpr std::int64_t end = (std::numeric_limits<std::int64_t>::min)();

    /// The fault as a sentence, without what was parsed.
    std::string text() const;
};

}  // namespace sotto::detail

namespace sotto {

/// Bytes that do not follow their format. Nothing of them took effect.
class malformed : public error {
public:
    /// `where` names what was parsed.
    malformed(const std::string& where, const detail::fault& why)
        : error(errc::malformed, where + ": " + why.text()), why_(why) {}

    /// Where in the bytes, what was expected, what was found.
    const detail::fault& why() const noexcept { return why_; }

private:
    detail::fault why_;
};

}  // namespace sotto

namespace sotto::detail {

/// Bytes of another rank that do not follow their format.
class malformed_message : public malformed {
public:
    /// `rank` sent what `where` names.
    malformed_message(int rank, const std::string& where, const fault& why)
        : malformed(where, why), rank_(rank) {}
    /// The same text, now that the rank is known.
    malformed_message(int rank, const malformed& what) : malformed(what), rank_(rank) {}

    /// Which rank sent them.
    int rank() const noexcept { return rank_; }

private:
    int rank_;
};

}  // namespace sotto::detail

namespace sotto {

/// What a pure parser returns: a value, or the fault that made it refuse.
/// `value()` throws `malformed`; `*r` requires that `r` holds a value.
template <class T>
class [[nodiscard]] result {
public:
    /// What was parsed.
    result(T value) : held_(std::in_place_index<0>, std::move(value)) {}
    /// Why nothing was.
    result(detail::fault why) : held_(std::in_place_index<1>, why) {}

    /// Whether there is a value.
    explicit operator bool() const noexcept { return held_.index() == 0; }
    /// The value, which must be there.
    T& operator*() & noexcept { return *std::get_if<0>(&held_); }
    /// The value, which must be there.
    const T& operator*() const& noexcept { return *std::get_if<0>(&held_); }
    /// A member of the value, which must be there.
    T* operator->() noexcept { return std::get_if<0>(&held_); }
    /// A member of the value, which must be there.
    const T* operator->() const noexcept { return std::get_if<0>(&held_); }
    /// Why there is no value, where there is none.
    const detail::fault& why() const noexcept { return *std::get_if<1>(&held_); }

    /// The value, or throws malformed. `where` names what was parsed: text, or a function that
    /// makes the text, so that none is made when all is well.
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
