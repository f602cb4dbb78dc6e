#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sotto/core/layout.hpp"
#include "sotto/staleness/staleness_compensator.hpp"

namespace sotto {

/// Divides a late gradient by the distance that the parameters moved since the worker read them.
/// The unit of distance is the mean step.
///   math    g / (1 + |w - w_read| / C), by element; C = the mean of |change of w in a step| over
///           all steps so far. If nothing has moved yet, g. The sum of lengths is a float: C is off
///           by less than 1 % up to 10^6 steps of the server, and by up to 9 % at 10^7. After 1.6
///           10^7 equal steps the sum no longer grows
///   cost    4 bytes a weight, plus the parameters that parameter_server stores for each worker
///   source  Barkai, Hakimi, Schuster 2020, Gap Aware Mitigation of Gradient Staleness, ICLR;
///           arXiv:1909.10802
struct gap_aware {
    static constexpr bool compares = true;

    class state {
    public:
        explicit state(const layout& tensors);

        double begin(const late_gradient&) const noexcept { return 1.0; }

        void compensate(const tensor& t, std::span<float> gradient, std::span<const float> now,
                        std::span<const float> then) noexcept;
        void compensate_at(const tensor& t, std::span<float> values,
                           std::span<const std::uint32_t> indices, std::span<const float> now,
                           std::span<const float> then) noexcept;

        /// Adds to the sum C n; a running mean would round small steps away.
        void moved(const tensor& t, std::span<const float> change) noexcept;

        void visit(auto&& field) {
            for (const tensor& t : tensors_) {
                field("moved/" + t.name, t.of(std::span(lengths_)));
                field("steps/" + t.name, steps_[static_cast<std::size_t>(t.index)]);
            }
        }

    private:
        float steps(const tensor& t) const noexcept;

        layout tensors_;
        std::vector<float> lengths_;
        std::vector<std::int64_t> steps_;
    };

    state bind(const layout& tensors, int) const { return state(tensors); }
    void describe(auto&&) const {}
};

static_assert(staleness_compensator<gap_aware>);

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/staleness/gap_aware.ipp"
#endif
