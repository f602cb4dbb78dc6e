#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "sotto/core/config.hpp"

namespace sotto {

/// The name of a type as the compiler spells it: for messages and configuration digests, without
/// RTTI.
template <class T>
constexpr std::string_view type_name() noexcept {
    constexpr std::string_view text = __PRETTY_FUNCTION__;
    constexpr auto first = text.find("T = ") + 4;
    return text.substr(first, text.find_first_of(";]", first) - first);
}

/// The same without this namespace, which compilers write or not, and without its private part, so
/// that a configuration stays the same when a type becomes private.
template <class T>
constexpr std::string_view local_name() noexcept {
    std::string_view name = type_name<T>();
    for (const std::string_view outer : {"sotto::", "detail::"})
        if (name.starts_with(outer)) name.remove_prefix(outer.size());
    return name;
}

/// What a type is called in a configuration: its local_name, without a template's arguments, which
/// compilers do not spell alike. A type that was renamed keeps the name that old checkpoints have:
/// `static constexpr std::string_view described_as = "old_name"`.
template <class T>
constexpr std::string_view described_name() noexcept {
    if constexpr (requires { T::described_as; })
        return T::described_as;
    else
        return local_name<T>().substr(0, local_name<T>().find('<'));
}

/// Options say their values to a visitor:
/// `void describe(auto&& field) const { field("density", density); }`. From that come the text that
/// ranks compare before they train together and the header of a run's log.
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

/// Options as lines of "name = value": nested options are indented by their name and a dot. Types
/// without `describe` appear by their type's name alone, enumerators by what `name_of` calls them.
/// An end of line within a name or value becomes "\n", so that it begins no line of its own.
class description {
public:
    /// Adds an option, or all options of a value that says them.
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

    /// All lines so far.
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
