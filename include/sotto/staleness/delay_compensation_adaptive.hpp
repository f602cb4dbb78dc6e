#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sotto/core/bytes.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/detail/memory/large_pages.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/core/require_option.hpp"
#include "sotto/kernels/detail/simd/arithmetic.hpp"
#include "sotto/kernels/detail/update/delay_compensation.hpp"
#include "sotto/kernels/detail/update/entries.hpp"
#include "sotto/kernels/detail/update/pushed_step.hpp"
#include "sotto/staleness/delay_compensation.hpp"
#include "sotto/staleness/staleness_compensator.hpp"

namespace sotto {

/// DC-ASGD-a: the same with a lambda for each weight, from the mean square of its gradients.
///   math    s = m s + (1 - m) g^2, s = 0 at first, and 1 - m rounded once, from double;
///           g + lambda / sqrt(s + epsilon) g^2 (w - w_read), by element
///   shape   one s for all workers, or one for each, as the authors' program has it. Where only
///           entries of a gradient come, those that did not come count as zeros: s decays there
///           all the same
///   cost    4 bytes a weight, or a weight and worker; s passes through memory with the weights
///   errors  bind throws invalid_option: lambda or bound below 0, decay outside [0, 1), epsilon not
///           above 0
///   source  Zheng et al. 2017, arXiv:1609.08326
struct delay_compensation_adaptive {
    double lambda = 2.0;      // weighs the correction; 0: plain ASGD
    double decay = 0.95;      // m; 0 forgets all but the last gradient
    double epsilon = 1e-7;    // keeps the root of small mean squares away from 0
    double bound = 0.0;       // of the correction, as a share of the gradient; 0: none
    bool per_worker = false;  // whether each worker has an s of its own

    static constexpr bool compares = true;

    class state {
    public:
        state(const delay_compensation_adaptive& options, const layout& tensors, int workers)
            : tensors_(tensors),
              by_{.lambda = static_cast<float>(options.lambda),
                  .decay = options.decay,
                  .epsilon = static_cast<float>(options.epsilon),
                  .bound = static_cast<float>(options.bound)},
              squares_(static_cast<std::size_t>(options.per_worker ? workers : 1),
                       detail::large_vector<float>(static_cast<std::size_t>(tensors.size()))),
              scales_(squares_.size(), std::vector<double>(tensors.tensors().size(), 1.0)) {}

        double begin(const late_gradient& what) noexcept {
            worker_ = squares_.size() > 1 ? static_cast<std::size_t>(what.worker) : 0;
            return 1.0;
        }

        void compensate(const tensor& t, std::span<float> gradient, std::span<const float> now,
                        std::span<const float> then) noexcept {
            compensate_part(t, 0, gradient, now, then);
        }
        void compensate_part(const tensor& t, std::int64_t first, std::span<float> gradient,
                             std::span<const float> now, std::span<const float> then) noexcept {
            settle(t);
            detail::kernels::compensate_delay(
                by_, gradient, now, then,
                of(t).subspan(static_cast<std::size_t>(first), gradient.size()));
        }
        void compensate_at(const tensor& t, std::span<float> values,
                           std::span<const std::uint32_t> indices, std::span<const float> now,
                           std::span<const float> then) noexcept {
            const float scale = decayed_scale(t);
            detail::kernels::compensate_delay_at(by_, scale, values, indices, now, then, of(t));
        }
        void descend_at(const tensor& t, float rate, std::span<float> now,
                        std::span<const std::uint32_t> indices, std::span<const float> values,
                        std::span<const float> then) noexcept {
            const float scale = decayed_scale(t);
            detail::kernels::descend_compensated_at(rate, by_, scale, now, indices, values, then,
                                                    of(t));
        }
        bool descends() const noexcept { return by_.bound == 0.0f; }
        void descend(const tensor& t, float rate, std::span<float> next, std::span<const float> now,
                     byte_view gradient, std::span<const float> then) noexcept {
            settle(t);
            detail::kernels::descend_pushed(rate, by_, next, now, gradient, then, of(t));
        }

        void forget(int worker) noexcept {
            if (squares_.size() > 1)
                for (float& s : squares_[static_cast<std::size_t>(worker)]) s = 0.0f;
        }

        /// `s`, of all workers or of this one, brought up to the last gradient.
        std::span<const float> mean_square(int worker = 0) noexcept {
            settle_all(static_cast<std::size_t>(worker));
            return squares_[static_cast<std::size_t>(worker)];
        }

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

        // Where only entries come, s is kept divided by the decay of all gradients since: then the
        // others need not be touched. Some thousand gradients later all are, once.
        static constexpr double least_scale = 1e-18;

        double& scale_of(const tensor& t) noexcept {
            return scales_[worker_][static_cast<std::size_t>(t.index)];
        }
        float decayed_scale(const tensor& t) noexcept {
            double& scale = scale_of(t);
            if (by_.decay > 0.0 && by_.decay * scale < least_scale) settle(t);
            return static_cast<float>(scale *= by_.decay);
        }
        void settle(const tensor& t) noexcept {
            double& scale = scale_of(t);
            if (scale != 1.0) detail::kernels::scale(of(t), static_cast<float>(scale));
            scale = 1.0;
        }
        void settle_all(std::size_t worker) noexcept {
            const std::size_t present = std::exchange(worker_, worker);
            for (const tensor& t : tensors_) settle(t);
            worker_ = present;
        }

        layout tensors_;
        detail::kernels::adaptive_compensation by_;
        std::vector<detail::large_vector<float>> squares_;
        std::vector<std::vector<double>> scales_;
        std::size_t worker_ = 0;
    };

    state bind(const layout& tensors, int workers) const {
        detail::check_compensation("delay_compensation_adaptive", lambda, bound);
        require_option("delay_compensation_adaptive", "decay", decay,
                       detail::allowed::at_least(0.0).below(1.0));
        require_option("delay_compensation_adaptive", "epsilon", epsilon,
                       detail::allowed::above(0.0));
        return {*this, tensors, workers};
    }
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
