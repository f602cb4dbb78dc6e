#pragma once

#include "sotto/kernels/detail/nn/elementwise.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/simd/run_on.hpp"
#include "sotto/kernels/detail/simd/vector.hpp"
#include "sotto/kernels/instruction_set.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

struct add_two {
    SOTTO_INLINE static void apply(auto& a, const auto& b) noexcept { a = a + b; }
};

struct subtract_two {
    SOTTO_INLINE static void apply(auto& a, const auto& b) noexcept { a = a - b; }
};

struct add_two_rectified {
    SOTTO_INLINE static void apply(auto& a, const auto& b) noexcept {
        a = a + b;
        a = a < 0.0f ? decltype(a + b){} : a;
    }
};

struct multiply_two {
    SOTTO_INLINE static void apply(auto& a, const auto& b) noexcept { a = a * b; }
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
                                 std::size_t count) noexcept {
        constexpr std::size_t lanes = lanes_of(Set);
        std::size_t i = 0;
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

struct copy_rows_kernel {
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

SOTTO_DECL void copy_rows(const float* from, float* to, std::int64_t rows, std::int64_t width,
                          std::int64_t next) noexcept {
    run_widest<copy_rows_kernel>(from, to, rows, width, next);
}

SOTTO_DECL void sum(std::span<const float> a, std::span<const float> b,
                    std::span<float> to) noexcept {
    run_widest<each_pair<add_two>>(a.data(), b.data(), to.data(), to.size());
}

SOTTO_DECL void difference(std::span<const float> a, std::span<const float> b,
                           std::span<float> to) noexcept {
    run_widest<each_pair<subtract_two>>(a.data(), b.data(), to.data(), to.size());
}

SOTTO_DECL void product(std::span<const float> a, std::span<const float> b,
                        std::span<float> to) noexcept {
    run_widest<each_pair<multiply_two>>(a.data(), b.data(), to.data(), to.size());
}

SOTTO_DECL void rectified_sum(std::span<const float> a, std::span<const float> b,
                              std::span<float> to) noexcept {
    run_widest<each_pair<add_two_rectified>>(a.data(), b.data(), to.data(), to.size());
}

SOTTO_DECL void where_positive(std::span<const float> y, std::span<const float> x,
                               std::span<float> to) noexcept {
    run_widest<each_pair<second_where_first_is_positive>>(y.data(), x.data(), to.data(), to.size());
}

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT
