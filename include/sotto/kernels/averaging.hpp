#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "sotto/core/config.hpp"
#include "sotto/kernels/each_lane.hpp"
#include "sotto/kernels/instruction_set.hpp"
#include "sotto/kernels/reductions.hpp"
#include "sotto/kernels/require.hpp"
#include "sotto/kernels/unfused.hpp"
#include "sotto/kernels/vector.hpp"

namespace sotto::kernels {

/// Values, and what they count for in a sum.
struct weighted_values {
    float weight = 0.0f;
    std::span<const float> values;
};

inline namespace SOTTO_UNIT {

namespace detail {

struct average_with {
    template <instruction_set Set>
    SOTTO_INLINE static void run(float own_weight, float* own, std::size_t count,
                                 const weighted_values* others, std::size_t n) noexcept {
        SOTTO_UNFUSED_BODY
        constexpr std::size_t lanes = lanes_of(Set), registers = 2, block = registers * lanes;
        using vector = floats<lanes_of(Set)>;
        std::size_t i = 0;
        for (; i + block <= count; i += block) {
            vector sum[registers];
            add_at<vector>(own_weight, own + i, sum, true);
            for (std::size_t j = 0; j < n; ++j)
                add_at<vector>(others[j].weight, others[j].values.data() + i, sum, false);
            store(sum, own + i);
        }
        for (; i + lanes <= count; i += lanes) one<vector>(own_weight, own, others, n, i);
        const std::size_t rest = count % lanes;
        for (std::size_t lane = 0; lane < rest; ++lane)
            one<float>(own_weight, own, others, n, i + lane);
    }

    template <class V, std::size_t Registers>
    SOTTO_INLINE static void add_at(float weight, const float* x, V (&sum)[Registers],
                                    bool first) noexcept {
        SOTTO_UNFUSED_BODY
        constexpr std::size_t lanes = sizeof(V) / sizeof(float), line = 16;
        for (std::size_t at = 0; at < Registers * lanes; at += line) fetch_ahead(x + at);
        for (std::size_t r = 0; r < Registers; ++r) {
            V value;
            load(value, x + r * lanes);
            sum[r] = first ? weight * value : sum[r] + weight * value;
        }
    }

    template <class V>
    SOTTO_INLINE static void one(float own_weight, float* own, const weighted_values* others,
                                 std::size_t n, std::size_t i) noexcept {
        SOTTO_UNFUSED_BODY
        V sum;
        load(sum, own + i);
        sum = own_weight * sum;
        for (std::size_t j = 0; j < n; ++j) {
            V value;
            load(value, others[j].values.data() + i);
            sum = sum + others[j].weight * value;
        }
        store(sum, own + i);
    }
};

}  // namespace detail

/// The step of gossip: a worker's own values become the weighted sum of them and its neighbours',
/// in one pass, however many there are. The weights are not looked at; of an average they add up
/// to 1. How far workers are apart says squared_distance in reductions.hpp.
///   math    x = w x + sum over j of w_j x_j, added in the order of j: the same bits on every
///           instruction set
///   cost    reads 4 bytes of each neighbour and of the own values, and writes 4, a value
///   errors  invalid_option unless all sizes are equal; none of the others may be the own values
///   source  Boyd et al. 2006, Randomized gossip algorithms
inline void average(float own_weight, std::span<float> own,
                    std::span<const weighted_values> others) {
    for (std::size_t j = 0; j < others.size(); ++j)
        if (others[j].values.size() != own.size()) [[unlikely]]
            detail::refuse("average",
                           detail::given_size("others[" + std::to_string(j) + "].values",
                                              others[j].values.size()),
                           std::to_string(own.size()) + ", the size of own");
    run_unfused<detail::average_with>(best_instruction_set(), own_weight, own.data(), own.size(),
                                      others.data(), others.size());
}

}  // namespace SOTTO_UNIT

}  // namespace sotto::kernels
