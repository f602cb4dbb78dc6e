#pragma once

#include <cstdint>

#include "sotto/core/config.hpp"
#include "sotto/kernels/instruction_set.hpp"
#include "sotto/kernels/vector.hpp"

namespace sotto::kernels {

namespace detail {

struct add_two {
    SOTTO_INLINE static void apply(auto& a, const auto& b) noexcept { a = a + b; }
};
struct add_two_rectified {
    SOTTO_INLINE static void apply(auto& a, const auto& b) noexcept {
        a = a + b;
        a = a < 0.0f ? decltype(a + b){} : a;
    }
};
struct second_where_first_is_positive {
    SOTTO_INLINE static void apply(auto& a, const auto& b) noexcept {
        a = a > 0.0f ? b : decltype(a + b){};
    }
};

template <class Function>
struct each_pair {
    template <instruction_set Set>
    SOTTO_INLINE static void run(const float* a, const float* b, float* to,
                                 std::int64_t count) noexcept {
        constexpr int lanes = lanes_of(Set);
        std::int64_t i = 0;
        for (; i + lanes <= count; i += lanes) {
            floats<lanes> first, second;
            load(first, a + i);
            load(second, b + i);
            Function::apply(first, second);
            store(first, to + i);
        }
        for (; i < count; ++i) {
            float value = a[i];
            Function::apply(value, b[i]);
            to[i] = value;
        }
    }
};

struct copy_rows {
    template <instruction_set Set>
    SOTTO_INLINE static void run(const float* from, float* to, std::int64_t rows,
                                 std::int64_t width, std::int64_t next) noexcept {
        constexpr int lanes = lanes_of(Set);
        for (std::int64_t row = 0; row < rows; ++row, from += width, to += next) {
            std::int64_t i = 0;
            for (; i + lanes <= width; i += lanes) {
                floats<lanes> value;
                load(value, from + i);
                store(value, to + i);
            }
            if constexpr (lanes > 8)
                for (; i + 8 <= width; i += 8) {
                    floats<8> value;
                    load(value, from + i);
                    store(value, to + i);
                }
            for (; i < width; ++i) to[i] = from[i];
        }
    }
};

}  // namespace detail

/// Rows of `width` floats, one behind the other, to rows that begin `next` floats apart.
inline void copy_rows(const float* from, float* to, std::int64_t rows, std::int64_t width,
                      std::int64_t next) noexcept {
    run_widest<detail::copy_rows>(from, to, rows, width, next);
}

/// to = a + b; `to` may be either.
inline void sum(const float* a, const float* b, float* to, std::int64_t count) noexcept {
    run_widest<detail::each_pair<detail::add_two>>(a, b, to, count);
}

/// to = max(0, a + b); a NaN stays one.
inline void rectified_sum(const float* a, const float* b, float* to, std::int64_t count) noexcept {
    run_widest<detail::each_pair<detail::add_two_rectified>>(a, b, to, count);
}

/// to = x where y > 0 and else 0: what of a gradient comes back through a rectifier that put out y.
inline void where_positive(const float* y, const float* x, float* to, std::int64_t count) noexcept {
    run_widest<detail::each_pair<detail::second_where_first_is_positive>>(y, x, to, count);
}

}  // namespace sotto::kernels
