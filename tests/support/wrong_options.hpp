#pragma once

#include <doctest/doctest.h>

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "sotto/core/describe.hpp"
#include "sotto/core/errors.hpp"

namespace sotto::testing {

/// A number that few options may have, and what tables call it.
template <class Number>
struct wrong_number {
    const char* name;
    Number value;
};

/// Made of bits at run time, since a unit may be compiled as if there were no NaN.
inline double from_bits(std::uint64_t bits) {
    asm volatile("" : "+r"(bits));
    return std::bit_cast<double>(bits);
}

template <class Number>
std::vector<wrong_number<Number>> wrong_numbers() {
    if constexpr (std::floating_point<Number>) {
        const auto real = [](std::uint64_t bits) { return static_cast<Number>(from_bits(bits)); };
        std::vector<wrong_number<Number>> all{{"nan", real(0x7ff8000000000000)},
                                              {"-nan", real(0xfff8000000000000)},
                                              {"inf", real(0x7ff0000000000000)},
                                              {"-inf", real(0xfff0000000000000)},
                                              {"-1", Number(-1)},
                                              {"0", Number(0)}};
        if constexpr (std::same_as<Number, double>) {
            all.push_back({"1e39", 1e39});  // more than a float holds
            all.push_back({"1e300", 1e300});
        }
        return all;
    } else {
        using limits = std::numeric_limits<Number>;
        return {{"-1", Number(-1)},
                {"0", Number(0)},
                {"min", (limits::min)()},
                {"max", (limits::max)()}};
    }
}

/// Tries wrong values of options, one after the other. A table holds the options' names, each with
/// the wrong values that it takes all the same, such as {"sgd.learning_rate", "0"}. All others must
/// be refused by an invalid_option that has the option's name in its text. "?max" is not tried.
class wrong_options {
public:
    using table = std::map<std::string, std::string, std::less<>>;

    explicit wrong_options(table taken) : taken_(std::move(taken)) {}

    /// Every number that some options describe, and those of the options inside; `attempt(options)`
    /// binds them. What they describe by value alone, and no number, is left out.
    template <class Options, class Attempt>
    void of(const Options& sensible, Attempt attempt) {
        Options none = sensible;
        CHECK_NOTHROW(attempt(none));
        const std::size_t count = numbers_of(none).size();
        for (std::size_t i = 0; i < count; ++i) {
            Options changed = sensible;
            const place at = numbers_of(changed)[i];
            const auto each = [&](auto* number) {
                using Number = std::remove_pointer_t<decltype(number)>;
                for (const auto& wrong : wrong_numbers<Number>()) {
                    Options tried = sensible;
                    *static_cast<Number*>(numbers_of(tried)[i].number) = wrong.value;
                    judge(at.key, wrong.name, [&] { attempt(tried); });
                }
            };
            switch (at.is) {
                case kind::real: each(static_cast<double*>(at.number)); break;
                case kind::single: each(static_cast<float*>(at.number)); break;
                case kind::whole: each(static_cast<int*>(at.number)); break;
                case kind::large: each(static_cast<std::int64_t*>(at.number)); break;
            }
        }
    }

    /// One option of any part: `attempt(value)` makes it with the value.
    template <class Number, class Attempt>
    void option(const std::string& key, Attempt attempt) {
        for (const auto& wrong : wrong_numbers<Number>())
            judge(key, wrong.name, [&] { attempt(wrong.value); });
    }

    /// Options of the table that were not tried.
    std::vector<std::string> left_out() const {
        std::vector<std::string> all;
        for (const auto& [key, taken] : taken_)
            if (!tried_.contains(key)) all.push_back(key);
        return all;
    }

private:
    enum class kind { real, single, whole, large };
    struct place {
        std::string key;
        kind is;
        void* number;
    };

    template <class Options>
    static std::vector<place> numbers_of(Options& options) {
        std::vector<place> found;
        const auto* const first = reinterpret_cast<const std::byte*>(&options);
        collect(options, first, first + sizeof options, found);
        return found;
    }

    template <class Options>
    static void collect(const Options& options, const std::byte* first, const std::byte* last,
                        std::vector<place>& found) {
        std::string owner(local_name<Options>());
        owner = owner.substr(0, owner.find('<'));
        options.describe([&](std::string_view name, const auto& value) {
            using Value = std::remove_cvref_t<decltype(value)>;
            const auto add = [&](kind is) {
                // Not a copy that was made to be described.
                const auto* const at = reinterpret_cast<const std::byte*>(&value);
                if (at >= first && at < last)
                    found.push_back({owner + "." + std::string(name), is,
                                     const_cast<void*>(static_cast<const void*>(&value))});
            };
            if constexpr (describable<Value>)
                collect(value, first, last, found);
            else if constexpr (std::same_as<Value, double>)
                add(kind::real);
            else if constexpr (std::same_as<Value, float>)
                add(kind::single);
            else if constexpr (std::same_as<Value, int>)
                add(kind::whole);
            else if constexpr (std::same_as<Value, std::int64_t>)
                add(kind::large);
        });
    }

    void judge(const std::string& key, const std::string& wrong, auto&& attempt) {
        tried_.insert(key);
        const auto row = taken_.find(key);
        CAPTURE(key);
        CAPTURE(wrong);
        REQUIRE_MESSAGE(row != taken_.end(), "the table has no row for this option");
        const auto has = [&](const std::string& word) {
            return (" " + row->second + " ").find(" " + word + " ") != std::string::npos;
        };
        if (has("?" + wrong)) return;
        const bool is_taken = has(wrong);
        std::string refusal;
        bool is_refused = false;
        try {
            attempt();
        } catch (const invalid_option& e) {
            is_refused = true;
            refusal = e.what();
        }
        CAPTURE(refusal);
        CHECK(is_refused != is_taken);
        if (is_refused && !is_taken)
            CHECK(refusal.find(key.substr(key.rfind('.') + 1)) != std::string::npos);
    }

    table taken_;
    std::set<std::string, std::less<>> tried_;
};

}  // namespace sotto::testing
