#pragma once

#include "sotto/kernels/detail/update/averaging.hpp"

#include <cstddef>
#include <span>
#include <string>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/simd/each_lane.hpp"
#include "sotto/kernels/detail/simd/reductions.hpp"
#include "sotto/kernels/detail/simd/require.hpp"
#include "sotto/kernels/detail/simd/sums.hpp"
#include "sotto/kernels/detail/simd/unfused.hpp"
#include "sotto/kernels/detail/simd/vector.hpp"
#include "sotto/kernels/instruction_set.hpp"

namespace sotto::detail::kernels {

inline namespace SOTTO_UNIT {

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

SOTTO_INLINE void fetch_all_ahead(const float* own, const weighted_values* others, std::size_t n,
                                  std::size_t i) noexcept {
    fetch_ahead(own + i);
    for (std::size_t j = 0; j < n; ++j) fetch_ahead(others[j].values.data() + i);
}

/// Moves values towards those of others, and yields the changes.
struct mixed_values {
    float* own;
    const weighted_values* others;
    std::size_t n;

    SOTTO_INLINE void ahead(std::size_t i) const noexcept { fetch_all_ahead(own, others, n, i); }

    template <class V, class Wide>
    SOTTO_INLINE void at(std::size_t i, Wide& to) const noexcept {
        SOTTO_UNFUSED_BODY
        V value, change = V{};
        load(value, own + i);
        for (std::size_t j = 0; j < n; ++j) {
            V other;
            load(other, others[j].values.data() + i);
            change = change + others[j].weight * (other - value);
        }
        value = value + change;
        store(value, own + i);
        widen(change, to);
    }
};

/// Sums shares of values, and yields the changes of values divided by their weights.
struct shared_values {
    float kept_share;
    float* own;
    const weighted_values* others;
    std::size_t n;
    float over_before, over_after;

    SOTTO_INLINE void ahead(std::size_t i) const noexcept { fetch_all_ahead(own, others, n, i); }

    template <class V, class Wide>
    SOTTO_INLINE void at(std::size_t i, Wide& to) const noexcept {
        SOTTO_UNFUSED_BODY
        V value;
        load(value, own + i);
        V sum = kept_share * value;
        for (std::size_t j = 0; j < n; ++j) {
            V other;
            load(other, others[j].values.data() + i);
            sum = sum + others[j].weight * other;
        }
        store(sum, own + i);
        widen(over_after * sum - over_before * value, to);
    }
};

inline void require_size_of_own(const char* name, std::size_t size,
                                std::span<const weighted_values> others) {
    for (std::size_t j = 0; j < others.size(); ++j)
        if (others[j].values.size() != size) [[unlikely]]
            refuse(name,
                   given_size("others[" + std::to_string(j) + "].values", others[j].values.size()),
                   std::to_string(size) + ", the size of own");
}

SOTTO_DECL void average(float own_weight, std::span<float> own,
                        std::span<const weighted_values> others) {
    require_size_of_own("average", own.size(), others);
    run_unfused<average_with>(sotto::kernels::best_instruction_set(), own_weight, own.data(),
                              own.size(), others.data(), others.size());
}

SOTTO_DECL double mix(std::span<float> own, std::span<const weighted_values> others) {
    require_size_of_own("mix", own.size(), others);
    return run_unfused<sum_squares>(sotto::kernels::best_instruction_set(),
                                    mixed_values{own.data(), others.data(), others.size()},
                                    own.size());
}

SOTTO_DECL double share_out(float kept_share, std::span<float> own,
                            std::span<const weighted_values> others, float weight_before,
                            float weight_after) {
    require_size_of_own("share_out", own.size(), others);
    return run_unfused<sum_squares>(
        sotto::kernels::best_instruction_set(),
        shared_values{kept_share, own.data(), others.data(), others.size(), 1.0f / weight_before,
                      1.0f / weight_after},
        own.size());
}

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::kernels
