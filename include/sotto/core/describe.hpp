#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "sotto/core/config.hpp"

namespace sotto {

/// Returns the name of a type as the compiler spells it, without RTTI. For messages and
/// configuration digests.
template <class T>
constexpr std::string_view type_name() noexcept {
    constexpr std::string_view text = __PRETTY_FUNCTION__;
    constexpr auto first = text.find("T = ") + 4;
    return text.substr(first, text.find_first_of(";]", first) - first);
}

/// Returns type_name without `sotto::`, which not every compiler writes, and without `detail::`. So
/// a configuration stays the same when a type becomes private.
template <class T>
constexpr std::string_view local_name() noexcept {
    std::string_view name = type_name<T>();
    for (const std::string_view outer : {"sotto::", "detail::"})
        if (name.starts_with(outer)) name.remove_prefix(outer.size());
    return name;
}

/// Returns the name of a type in a configuration: its local_name without template arguments, which
/// compilers spell differently. A renamed type keeps its name in old checkpoints with `static
/// constexpr std::string_view described_as = "old_name"`.
template <class T>
constexpr std::string_view described_name() noexcept {
    if constexpr (requires { T::described_as; })
        return T::described_as;
    else
        return local_name<T>().substr(0, local_name<T>().find('<'));
}

/// Options that pass their names and values to a visitor: `void describe(auto&& field) const {
/// field("density", density); }`. Ranks compare the resulting text before they train together, and
/// the header of a run's log contains it.
template <class T>
concept describable = requires(const T& options) {
    options.describe([](std::string_view, const auto&) {});
};

}  // namespace sotto

namespace sotto::detail {
inline void append_number(std::string& text, auto value) {
    char buffer[32];
    text.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
}

/// Options as lines "name = value". Names of nested options begin with the name of the outer option
/// and a dot. A type without `describe` appears as its type name, and an enumerator as `name_of`
/// returns it. A line end within a name or value becomes "\n", so that it does not start a new
/// line.
class description {
public:
    /// Adds an option, or all options of a value that has `describe`.
    template <class T>
    description& add(std::string_view name, const T& value) {
        if constexpr (describable<T>) {
            line(name, described_name<T>());
            const std::string outer = prefix_;
            prefix_.append(name).append(".");
            value.describe(
                [this](std::string_view field, const auto& inner) { this->add(field, inner); });
            prefix_ = outer;
        } else if constexpr (std::is_same_v<T, bool>) {
            line(name, value ? "true" : "false");
        } else if constexpr (requires {
                                 value.has_value();
                                 *value;
                             }) {
            if (value.has_value())
                add(name, *value);
            else
                line(name, "unset");
        } else if constexpr (requires { name_of(value); }) {
            line(name, name_of(value));
        } else if constexpr (std::is_enum_v<T>) {
            add(name, static_cast<std::int64_t>(value));
        } else if constexpr (std::is_arithmetic_v<T>) {
            std::string number;
            detail::append_number(number, value);
            line(name, number);
        } else if constexpr (std::is_convertible_v<T, std::string_view>) {
            line(name, value);
        } else {
            line(name, local_name<T>());
        }
        return *this;
    }

    /// Returns all lines so far.
    const std::string& text() const noexcept { return text_; }

private:
    void line(std::string_view name, std::string_view value);

    void append_in_line(std::string_view part);

    std::string prefix_;
    std::string text_;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/core/describe.ipp"
#endif
