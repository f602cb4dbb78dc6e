#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "sotto/core/config.hpp"

namespace sotto {

/// How ranks hold a value that a state passes to a visitor, `field(name, value, kept)`. It decides
/// how a checkpoint saves the value and restores it on another number of ranks. `field(name,
/// value)` means alike.
///   alike   every rank holds the same bits: one copy is saved, every new rank gets it
///   apart   every rank holds its own part of a sum, which it has not sent yet: all parts are
///           saved, and any number of new ranks gets parts that add up to the same sum
///   own     every rank holds its own value, which is not part of a sum: all values are saved, and
///           only the same number of ranks can resume
enum class kept : std::uint8_t { alike, apart, own };

}  // namespace sotto

namespace sotto::detail {

/// Two names joined, without heap memory up to 120 characters. Strategies also visit states in
/// every step, to restore them if the step fails.
class joined_names {
public:
    /// Joins both names.
    joined_names(std::string_view prefix, std::string_view name);
    operator std::string_view() const noexcept;

private:
    std::size_t size_;
    std::array<char, 120> short_;
    std::string long_;
};

}  // namespace sotto::detail

namespace sotto {

/// Returns two names joined, for a visitor: `field(joined_name("lion/", t.name), values)`. The
/// result converts to a std::string_view that is valid while the expression lasts.
///   cost    no heap memory up to 120 characters
detail::joined_names joined_name(std::string_view prefix, std::string_view name);

/// Returns a visitor that puts `prefix` before every name.
template <class Field>
auto visitor_within(Field& field, std::string_view prefix) {
    return [&field, prefix](std::string_view name, auto&& value, auto... how) {
        field(joined_name(prefix, name), value, how...);
    };
}

/// Returns a visitor that puts `prefix` before every name and marks every value as `own`. For
/// strategies whose ranks train separately.
template <class Field>
auto visitor_of_own(Field& field, std::string_view prefix) {
    return [&field, prefix](std::string_view name, auto&& value, auto...) {
        field(joined_name(prefix, name), value, kept::own);
    };
}

}  // namespace sotto

namespace sotto::detail {

/// Accepts everything that a visitor accepts and does nothing. Concepts use it to detect `visit`.
struct idle_visitor {
    /// Does nothing.
    void operator()(std::string_view, std::span<float>, kept = kept::alike) const noexcept {}
    /// Does nothing.
    void operator()(std::string_view, std::int64_t&, kept = kept::alike) const noexcept {}
    /// Does nothing.
    void operator()(std::string_view, double&, kept = kept::alike) const noexcept {}
};

}  // namespace sotto::detail

namespace sotto {

/// A state that passes what must be saved to `field`, by `visit(field)`.
template <class State>
concept visitable = requires(State& state, const detail::idle_visitor& field) {
    state.visit(field);
};

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/core/visit.ipp"
#endif
