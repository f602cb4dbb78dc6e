#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

#include "sotto/core/detail/memory/large_pages.hpp"

namespace sotto::detail {

/// What something remembers, as it was before a step that may not take place: all that its `visit`
/// shows. For strategies that change it before they know; what changes when all is there needs
/// none.
///   cost    as much memory as is shown, from the first `take` on, and a copy of it each time. What
///           is not shown is not put back
class state_snapshot {
public:
    /// `show(field)`: calls field(name, value, ...) for each value, always the same ones.
    template <class Show>
    void take(Show show) {
        values_.clear();
        numbers_.clear();
        show([this](std::string_view, auto&& field, auto...) {
            if constexpr (is_span<decltype(field)>)
                values_.insert(values_.end(), field.begin(), field.end());
            else
                numbers_.push_back(bits_of(field));
        });
    }

    /// As they were when they were taken; nothing where they were not.
    template <class Show>
    void put_back(Show show) noexcept {
        if (values_.empty() && numbers_.empty()) return;
        std::size_t value = 0, number = 0;
        show([&](std::string_view, auto&& field, auto...) {
            using type = std::remove_cvref_t<decltype(field)>;
            if constexpr (is_span<decltype(field)>) {
                std::copy_n(values_.begin() + static_cast<std::ptrdiff_t>(value), field.size(),
                            field.begin());
                value += field.size();
            } else if constexpr (std::is_same_v<type, double>) {
                field = std::bit_cast<double>(numbers_[number++]);
            } else {
                field = static_cast<type>(numbers_[number++]);
            }
        });
    }

    /// What it was taken for took place: it is not to be put back.
    void drop() noexcept;

private:
    template <class Field>
    static constexpr bool is_span = requires(Field&& field) {
        field.size();
    };

    static std::int64_t bits_of(double value) noexcept;
    static std::int64_t bits_of(std::int64_t value) noexcept { return value; }

    large_vector<float> values_;
    std::vector<std::int64_t> numbers_;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/detail/gossip/state_snapshot.ipp"
#endif
