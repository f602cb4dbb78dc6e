#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "sotto/core/config.hpp"

namespace sotto {

/// How ranks hold what a state shows to a visitor, `field(name, value, kept)`, so that it can be
/// saved and given to another number of ranks. `field(name, value)` alone means alike.
///   alike   every rank holds the same bits: one copy is saved, every new rank gets it
///   apart   every rank holds its own part of a sum, what it has not sent yet: all are saved, and
///           any number of new ranks gets parts that add up to the same
///   own     every rank holds its own, and these are of no sum: all are saved, and only as many
///           ranks as there were can go on with them
enum class kept : std::uint8_t { alike, apart, own };

}  // namespace sotto

namespace sotto::detail {

/// Two names as one, in no memory of the heap unless they are very long: states are also shown in
/// every step, to be put back.
class joined_names {
public:
    /// Both, one after the other.
    joined_names(std::string_view prefix, std::string_view name);
    operator std::string_view() const noexcept;

private:
    std::size_t size_;
    std::array<char, 120> short_;
    std::string long_;
};

}  // namespace sotto::detail

namespace sotto {

/// Two names as one, for a visitor: `field(joined_name("lion/", t.name), values)`. It is a
/// std::string_view while the expression lasts.
///   cost    no memory of the heap up to 120 characters
detail::joined_names joined_name(std::string_view prefix, std::string_view name);

/// A visitor under names that begin alike.
template <class Field>
auto visitor_within(Field& field, std::string_view prefix) {
    return [&field, prefix](std::string_view name, auto&& value, auto... how) {
        field(joined_name(prefix, name), value, how...);
    };
}

/// A visitor of what is each rank's own, whatever it is said to be, under names that begin alike:
/// for strategies whose ranks train apart.
template <class Field>
auto visitor_of_own(Field& field, std::string_view prefix) {
    return [&field, prefix](std::string_view name, auto&& value, auto...) {
        field(joined_name(prefix, name), value, kept::own);
    };
}

}  // namespace sotto

namespace sotto::detail {

/// A visitor that takes what every visitor takes, and does nothing with it: to ask what has visit.
struct idle_visitor {
    /// Nothing happens.
    void operator()(std::string_view, std::span<float>, kept = kept::alike) const noexcept {}
    /// Nothing happens.
    void operator()(std::string_view, std::int64_t&, kept = kept::alike) const noexcept {}
    /// Nothing happens.
    void operator()(std::string_view, double&, kept = kept::alike) const noexcept {}
};

}  // namespace sotto::detail

namespace sotto {

/// A state that shows what is to be saved of it by `visit(field)`.
template <class State>
concept visitable = requires(State& state, const detail::idle_visitor& field) {
    state.visit(field);
};

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/core/visit.ipp"
#endif
