#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "sotto/core/layout.hpp"
#include "sotto/core/require_option.hpp"
#include "sotto/optimizers/optimizer.hpp"
#include "sotto/optimizers/schedules.hpp"

namespace sotto {

/// An optimizer whose learning rate follows a schedule:
/// `scheduled{sgd{.learning_rate = 0.1}, cosine{.epochs = 20}}`.
template <class Optimizer, class Schedule>
struct scheduled {
    static_assert(
        optimizer<Optimizer>,
        "scheduled: the first policy must be an optimizer: it needs bind(layout) with "
        "begin_step(step_info, gradient) and update(tensor, parameters, gradient) noexcept");
    static_assert(detail::rate_schedule<Schedule>,
                  "scheduled: the second policy must be a learning-rate schedule: it needs "
                  "factor(round_info)");

    Optimizer inner{};    // whose learning rate is multiplied
    Schedule schedule{};  // by what

    static constexpr bool linear = detail::linear_optimizer<Optimizer>;
    class state;
    state bind(const layout& tensors) const { return {*this, tensors}; }
    void describe(auto&& field) const {
        field("inner", inner);
        field("schedule", schedule);
    }
};

template <class Optimizer, class Schedule>
scheduled(Optimizer, Schedule) -> scheduled<Optimizer, Schedule>;

template <class Optimizer, class Schedule>
class scheduled<Optimizer, Schedule>::state {
    using bound = decltype(std::declval<const Optimizer&>().bind(std::declval<const layout&>()));

public:
    static constexpr bool steps_by_tensor = detail::optimizing::steps_by_tensor<bound>;

    state(const scheduled& options, const layout& tensors)
        : schedule_(options.schedule), bound_(options.inner.bind(tensors)) {
        if constexpr (requires { schedule_.check(); }) schedule_.check();
        checked_factor({});
    }

    void follow_momentum(const detail::carried_momentum& momentum) noexcept {
        detail::optimizing::follow_momentum(bound_, momentum);
    }

    double rate_at(
        const round_info& where) const noexcept requires detail::optimizing::tells_rate<Optimizer> {
        return detail::optimizing::rate_at(bound_, where) * schedule_.factor(where);
    }

    void begin_step(step_info step, std::span<const float> gradient) {
        step.rate_factor *= checked_factor(step.where);
        bound_.begin_step(step, gradient);
    }

    void update(const tensor& t, std::span<float> parameters,
                std::span<const float> gradient) noexcept {
        bound_.update(t, parameters, gradient);
    }

    void update_part(const tensor& t, std::int64_t first, std::span<float> parameters,
                     std::span<const float> gradient) noexcept requires
        detail::optimizing::updates_parts<bound> {
        bound_.update_part(t, first, parameters, gradient);
    }

    std::optional<float> plain_rate(const tensor& t) const noexcept {
        return detail::optimizing::plain_rate(bound_, t);
    }

    bool updates_sparsely() const noexcept { return detail::optimizing::updates_sparsely(bound_); }

    void update_at(const tensor& t, std::span<float> parameters, std::span<const float> gradient,
                   std::span<const std::uint32_t> indices) requires requires(bound& state) {
        state.update_at(t, parameters, gradient, indices);
    }
    { bound_.update_at(t, parameters, gradient, indices); }

    void update_entries(const tensor& t, std::span<float> parameters,
                        std::span<const std::uint32_t> indices,
                        std::span<const float> values) noexcept requires
        detail::optimizing::updates_entries<bound> {
        bound_.update_entries(t, parameters, indices, values);
    }

    void commit() noexcept { detail::optimizing::commit(bound_); }
    void visit(auto&& field) requires detail::optimizing::can_be_saved<Optimizer> {
        detail::optimizing::visit(bound_, field);
    }

private:
    double checked_factor(const round_info& where) const {
        const double factor = schedule_.factor(where);
        const auto name = [&] {
            return "the schedule's factor at step " + std::to_string(where.step);
        };
        require_option("scheduled", name, factor, detail::allowed::at_least(0.0));
        return factor;
    }

    Schedule schedule_;
    bound bound_;
};

}  // namespace sotto
