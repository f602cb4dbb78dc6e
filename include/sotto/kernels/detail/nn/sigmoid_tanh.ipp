#pragma once

#include "sotto/kernels/detail/nn/sigmoid_tanh.hpp"

#include <cstddef>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/nn/squash_lanes.hpp"
#include "sotto/kernels/detail/simd/unfused.hpp"
#include "sotto/kernels/detail/simd/vector.hpp"
#include "sotto/kernels/instruction_set.hpp"

namespace sotto::detail::kernels::inline SOTTO_UNIT {

template <class Function>
struct each_value {
    template <instruction_set Set>
    SOTTO_INLINE static void run(const float* x, float* y, std::size_t count) noexcept {
        constexpr int lanes = lanes_of(Set);
        for (std::size_t i = 0; i < count; i += lanes) {
            floats<lanes> value;
            load_some<lanes>(value, x + i, count - i);
            Function::template apply<lanes>(value);
            store_some<lanes>(value, y + i, count - i);
        }
    }
};

struct sigmoid_of {
    template <int Lanes>
    SOTTO_INLINE static void apply(floats<Lanes>& value) noexcept {
        sigmoid_lanes<Lanes>(value, value);
    }
};

using sigmoid_kernel = each_value<sigmoid_of>;

struct tanh_of {
    template <int Lanes>
    SOTTO_INLINE static void apply(floats<Lanes>& value) noexcept {
        tanh_lanes<Lanes>(value, value);
    }
};

using tanh_kernel = each_value<tanh_of>;

SOTTO_DECL void sigmoid(std::span<const float> x, std::span<float> y) noexcept {
    run_unfused<sigmoid_kernel>(sotto::kernels::best_instruction_set(), x.data(), y.data(),
                                x.size());
}

SOTTO_DECL void tanh(std::span<const float> x, std::span<float> y) noexcept {
    run_unfused<tanh_kernel>(sotto::kernels::best_instruction_set(), x.data(), y.data(), x.size());
}

}  // namespace sotto::detail::kernels::inline SOTTO_UNIT
