// What every way to mix promises: what it remembers of steps, and where ranks come by it.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/strategies/gossip/mixing/mixing_method.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "support/all_gossip_policies.hpp"
#include "support/allocation_count.hpp"
#include "support/generators.hpp"
#include "support/numbers.hpp"
#include "support/over_simulated.hpp"
#include "support/training.hpp"
#include "support/tug_of_war.hpp"

using namespace sotto;

namespace {

using floats = std::vector<float>;

constexpr float rate = 0.125f;

/// One rank's steps by a method, with a neighbour who always has the same.
template <class Method>
class stepper {
public:
    stepper() : tensors_(testing::small_layout()), state_(bound()) {
        parameters = testing::normal_values(tensors_.size(), 1);
        next_ = gradient_ = parameters;
    }

    /// Up to where nothing may fail any more.
    void attempt(std::int64_t number) {
        const floats seen =
            testing::normal_values(tensors_.size(), 100 + static_cast<std::uint64_t>(number));
        std::copy(seen.begin(), seen.end(), gradient_.begin());
        move();
    }
    /// The same without taking memory.
    void attempt_as_before() { move(); }

    void settle() {
        mixing::settle(state_, parameters, next_, double{rate});
        std::copy(next_.begin(), next_.end(), parameters.begin());
        mixing::commit(state_);
    }
    void give_up() { mixing::rollback(state_); }

    floats parameters;

private:
    mixing_state<Method> bound() { return testing::sensible<Method>::options().bind(tensors_); }

    void move() {
        std::copy(parameters.begin(), parameters.end(), next_.begin());
        for (auto t = tensors_.tensors().rbegin(); t != tensors_.tensors().rend(); ++t) {
            const auto g = t->of(std::span(gradient_)), x = t->of(std::span(next_));
            mixing::direct(state_, *t, g);
            for (std::size_t i = 0; i < x.size(); ++i) x[i] -= rate * g[i];
            mixing::correct(state_, *t, t->of(std::span<const float>(parameters)), x);
        }
        const float own = mixing::wants_mean(state_) ? 0.5f : 0.75f;
        for (float& x : next_) x = own * x + (1.0f - own) * 0.5f;
        if constexpr (detail::mixing::has_companion<mixing_state<Method>>)
            for (float& y : state_.companion()) y = 0.75f * y;
    }

    layout tensors_;
    mixing_state<Method> state_;
    floats next_, gradient_;
};

/// What each rank came to that pulls to 1 + rank, on virtual time, where all are as fast.
template <class Method>
std::vector<floats> pulled_by(int ranks, std::int64_t steps, double by) {
    std::vector<floats> left(static_cast<std::size_t>(ranks));
    testing::over_simulated::run(ranks, [&](auto& transport) {
        testing::tug_of_war model(transport.rank(), {.ranks = ranks, .away = 1.0f, .kinds = 1});
        trainer trainer{model, testing::gossip_by<Method>(by), transport, {.batch_size = 1}};
        trainer.fit(testing::numbered{ranks}, epochs{steps});
        left[static_cast<std::size_t>(transport.rank())].assign(trainer.parameters().begin(),
                                                                trainer.parameters().end());
    });
    return left;
}

}  // namespace

TEST_CASE_TEMPLATE_DEFINE("a step that is given up leaves no trace", M, rolls_back) {
    static_assert(mixing_method<M>);
    stepper<M> one, twin;
    for (std::int64_t step = 0; step < 20; ++step) {
        for (std::int64_t failure = 0; failure < step % 3; ++failure) {
            one.attempt(1000 + 3 * step + failure);
            one.give_up();
        }
        for (auto* each : {&one, &twin}) {
            each->attempt(step);
            each->settle();
        }
        CHECK(one.parameters == twin.parameters);
    }
}
TEST_CASE_TEMPLATE_APPLY(rolls_back, testing::every_mixing_method);

TEST_CASE_TEMPLATE_DEFINE("steps by a method take no memory", M, takes_no_memory) {
    if (!support::allocation_count::works) {
        MESSAGE("skipped: allocations are not counted under sanitizers");
        return;
    }
    stepper<M> one;
    one.attempt(0);
    one.settle();
    const support::allocation_count count;
    for (int step = 0; step < 20; ++step) {
        one.attempt_as_before();
        step % 3 == 2 ? one.give_up() : one.settle();
    }
    CHECK(count.on_this_thread() == 0);
}
TEST_CASE_TEMPLATE_APPLY(takes_no_memory, testing::every_mixing_method);

TEST_CASE_TEMPLATE_DEFINE("the mean of ranks comes to what is least for all together", M,
                          comes_to_the_minimum) {
    for (const int ranks : {1, 2, 5}) {
        CAPTURE(ranks);
        const std::vector<floats> left = pulled_by<M>(ranks, 300, 0.0625);
        double mean = 0.0, furthest = 0.0;
        for (const floats& x : left)
            for (const float value : x) mean += value / static_cast<double>(ranks * std::ssize(x));
        for (const floats& x : left)
            for (const float value : x) furthest = std::max(furthest, std::abs(value - mean));
        const double place = 0.5 * (1.0 + ranks);
        CHECK(mean == doctest::Approx(place).epsilon(0.05));
        // Apart from each other ranks would be by (ranks - 1) / 2.
        CHECK(furthest <= 0.7 * 0.5 * (ranks - 1) + 1e-3);
    }
}
TEST_CASE_TEMPLATE_APPLY(comes_to_the_minimum, testing::every_mixing_method);

TEST_CASE_TEMPLATE_DEFINE("a rank that fails has the parameters of its last step, and all end", M,
                          fails_cleanly) {
    floats last, at_failure;
    CHECK_THROWS_AS(
        run_in_process(
            3,
            [&](auto& transport) {
                testing::number_model model;
                int step = 0;
                if (transport.rank() == 1)
                    model.spoil = [&](std::span<float> gradient) {
                        if (++step == 6) gradient[900] = std::nanf("");
                    };
                trainer trainer{model, testing::gossip_by<M>(rate), transport};
                const auto copy = [&] {
                    return floats(trainer.parameters().begin(), trainer.parameters().end());
                };
                try {
                    trainer.fit(testing::numbered{960}, epochs{1}, [&](const step_report& done) {
                        if (done.step == 5 && transport.rank() == 1) last = copy();
                    });
                } catch (const non_finite& e) {
                    CHECK(e.rank() == 1);
                    at_failure = copy();
                    throw;
                }
            }),
        non_finite);
    CHECK_FALSE(last.empty());
    CHECK(at_failure == last);
}
TEST_CASE_TEMPLATE_APPLY(fails_cleanly, testing::every_mixing_method);
