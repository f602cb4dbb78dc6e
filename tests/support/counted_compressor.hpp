#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>

#include "sotto/compressors/top_k.hpp"
#include "sotto/core/bytes.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/core/round_info.hpp"

namespace sotto::testing {

/// How often a policy of one rank committed and rolled back.
struct counts {
    std::int64_t commits = 0, rollbacks = 0;
    friend bool operator==(const counts&, const counts&) = default;
};

constexpr std::int64_t never = -1;

/// Half of the entries, by a state that counts. On rank 0 it throws in one round.
struct counted_compressor {
    counts* of = nullptr;
    std::int64_t fails_in = never;

    struct state : state_of<top_k> {
        state(const counted_compressor& options, const layout& tensors)
            : state_of<top_k>(top_k{.density = 0.5}.bind(tensors)),
              of(options.of),
              fails_in(options.fails_in) {}

        void begin_round(const round_info& round) {
            where = round;
            state_of<top_k>::begin_round(round);
        }
        void encode(const tensor& t, std::span<const float> gradient, bytes& out) {
            if (where.step == fails_in && where.rank == 0) throw std::runtime_error("on purpose");
            state_of<top_k>::encode(t, gradient, out);
        }
        // Of tensors that are summed.
        void pack(const tensor& t, std::span<const float> gradient, std::span<float> payload) {
            if (where.step == fails_in && where.rank == 0) throw std::runtime_error("on purpose");
            state_of<top_k>::pack(t, gradient, payload);
        }
        void commit() noexcept {
            ++of->commits;
            state_of<top_k>::commit();
        }
        void rollback() noexcept {
            ++of->rollbacks;
            state_of<top_k>::rollback();
        }

        counts* of;
        std::int64_t fails_in;
        round_info where{};
    };
    state bind(const layout& tensors) const { return {*this, tensors}; }
};

}  // namespace sotto::testing
