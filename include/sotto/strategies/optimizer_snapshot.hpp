#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "sotto/core/large_pages.hpp"
#include "sotto/optimizers/optimizer.hpp"

namespace sotto {

/// What an optimizer remembers, as it was before a step that may not take place. For strategies
/// that step before they know: those that step when all is there need none.
///   cost    as much memory as the optimizer's own, and a copy of it each step. An optimizer that
///           does not show what it remembers is not put back
template <class State>
class optimizer_snapshot {
public:
    /// Takes the memory.
    explicit optimizer_snapshot(State& state) { take(state); }

    void take(State& state) {
        values_.clear();
        numbers_.clear();
        optimizing::visit(state, [&](std::string_view, auto&& field, auto...) {
            if constexpr (is_span<decltype(field)>)
                values_.insert(values_.end(), field.begin(), field.end());
            else
                numbers_.push_back(static_cast<double>(field));
        });
    }

    void put_back(State& state) noexcept {
        std::size_t value = 0, number = 0;
        optimizing::visit(state, [&](std::string_view, auto&& field, auto...) {
            if constexpr (is_span<decltype(field)>) {
                std::copy_n(values_.begin() + static_cast<std::ptrdiff_t>(value), field.size(),
                            field.begin());
                value += field.size();
            } else {
                field = static_cast<std::remove_cvref_t<decltype(field)>>(numbers_[number++]);
            }
        });
    }

private:
    template <class Field>
    static constexpr bool is_span = requires(Field&& field) {
        field.size();
    };

    large_vector<float> values_;
    std::vector<double> numbers_;  // counts and factors: up to 2^53
};

}  // namespace sotto
