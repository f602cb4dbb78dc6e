#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sotto/core/bytes.hpp"
#include "sotto/core/detail/memory/large_pages.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/staleness/staleness_compensator.hpp"

namespace sotto {

/// DC-ASGD-a: `delay_compensation` with one lambda per weight, from the mean square of its
/// gradients.
///   math    s = m s + (1 - m) g^2, s = 0 at first, and 1 - m rounded once, from double;
///           g + lambda / sqrt(s + epsilon) g^2 (w - w_read), by element
///   shape   one s for all workers, or one per worker as in the authors' program. If a worker sends
///           only entries of a gradient, all other entries count as zeros: their s decays too
///   cost    4 bytes a weight, or a weight and worker; each step reads and writes s with the
///           weights
///   errors  bind throws invalid_option: lambda or bound below 0, decay outside [0, 1), epsilon not
///           above 0
///   source  Zheng et al. 2017, arXiv:1609.08326
struct delay_compensation_adaptive {
    double lambda = 2.0;      // weight of the correction; 0: plain ASGD
    double decay = 0.95;      // m; 0: only the last gradient counts
    double epsilon = 1e-7;    // lower limit under the root, for small mean squares
    double bound = 0.0;       // limit of the correction, as a share of the gradient; 0: none
    bool per_worker = false;  // true: one s per worker

    static constexpr bool compares = true;

    class state {
    public:
        state(const delay_compensation_adaptive& options, const layout& tensors, int workers);

        double begin(const late_gradient& what) noexcept;

        void compensate(const tensor& t, std::span<float> gradient, std::span<const float> now,
                        std::span<const float> then) noexcept;
        void compensate_part(const tensor& t, std::int64_t first, std::span<float> gradient,
                             std::span<const float> now, std::span<const float> then) noexcept;
        void compensate_at(const tensor& t, std::span<float> values,
                           std::span<const std::uint32_t> indices, std::span<const float> now,
                           std::span<const float> then) noexcept;
        void descend_at(const tensor& t, float rate, std::span<float> now,
                        std::span<const std::uint32_t> indices, std::span<const float> values,
                        std::span<const float> then) noexcept;
        bool descends() const noexcept { return by_.bound == 0.0f; }
        void descend(const tensor& t, float rate, std::span<float> next, std::span<const float> now,
                     byte_view gradient, std::span<const float> then) noexcept;

        void forget(int worker) noexcept;

        /// Returns `s` of this worker, or of all workers, with every gradient so far applied.
        std::span<const float> mean_square(int worker = 0) noexcept;

        void visit(auto&& field) {
            for (std::size_t worker = 0; worker < squares_.size(); ++worker) {
                settle_all(worker);
                for (const tensor& t : tensors_)
                    field("mean_square/" + std::to_string(worker) + "/" + t.name,
                          t.of(std::span(squares_[worker])));
            }
        }

    private:
        std::span<float> of(const tensor& t) noexcept { return t.of(std::span(squares_[worker_])); }

        // With sparse gradients s is stored divided by the decay since, so a gradient touches only
        // its entries. When the scale falls below this limit, after some thousand gradients, all of
        // s is rescaled.
        static constexpr double least_scale = 1e-18;

        double& scale_of(const tensor& t) noexcept;
        float decayed_scale(const tensor& t) noexcept;
        void settle(const tensor& t) noexcept;
        void settle_all(std::size_t worker) noexcept;

        layout tensors_;
        detail::kernels::adaptive_compensation by_;
        std::vector<detail::large_vector<float>> squares_;
        std::vector<std::vector<double>> scales_;
        std::size_t worker_ = 0;
    };

    state bind(const layout& tensors, int workers) const;
    void describe(auto&& field) const {
        field("lambda", lambda);
        field("decay", decay);
        field("epsilon", epsilon);
        field("bound", bound);
        field("per_worker", per_worker);
    }
};

static_assert(staleness_compensator<delay_compensation_adaptive>);

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/staleness/delay_compensation_adaptive.ipp"
#endif
