// A user-written compensator. The later a gradient arrives, the less it counts. An entry counts
// half if the parameter has already moved in its direction.

#include <sotto/models.hpp>
#include <sotto/sotto.hpp>
#include <sotto/transports/run_simulated.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>

struct fading {
    double half_life = 8.0;                 // in steps of the server
    static constexpr bool compares = true;  // the server stores what each worker read

    struct state {
        double half_life;

        // Returns the factor of the learning rate of this gradient's step.
        double begin(const sotto::late_gradient& what) const noexcept {
            return std::exp2(-double(what.staleness) / half_life);
        }

        // The worker computed the gradient at the parameters `then`. The current ones are `now`.
        void compensate(const sotto::tensor&, std::span<float> gradient, std::span<const float> now,
                        std::span<const float> then) noexcept {
            for (std::size_t i = 0; i < gradient.size(); ++i)
                if (gradient[i] * (now[i] - then[i]) < 0.0f) gradient[i] *= 0.5f;  // moved already
        }
    };
    state bind(const sotto::layout&, int) const { return {half_life}; }
};

int main() try {
    const auto digits = sotto::data::digits(2'000, sotto::random_stream{1});
    const auto unseen = sotto::data::digits(1'000, sotto::random_stream{2});
    // Simulated time. Rank 0 is the server, the others are workers, the last one five times slower.
    const sotto::simulated_options network{
        .seed = 1,
        .line = sotto::simulated_options::connection::ethernet(1e9, std::chrono::microseconds(50)),
        .machine = {.flops = 1e9},
        .slowness = sotto::speeds::one_slow{.rank = 4, .factor = 5.0}};
    bool good = true;
    sotto::run_simulated(5, network, [&](sotto::simulated& transport) {
        sotto::models::mlp model{784, 64, 10};
        const sotto::parameter_server strategy{sotto::sgd{.learning_rate = 0.05},
                                               sotto::asynchronous{},
                                               fading{},
                                               sotto::none{},
                                               {.dedicated = true}};
        sotto::trainer trainer{model, strategy, transport};
        std::int64_t latest = 0;
        const auto look = [&](const sotto::step_report& step) {
            latest = std::max(latest, step.round.staleness);
        };
        trainer.fit(digits, sotto::epochs{5}, look);
        const sotto::evaluation found = trainer.evaluate(unseen);
        if (transport.rank() > 0)
            std::printf("rank %d: at most %lld steps late\n", transport.rank(),
                        static_cast<long long>(latest));
        if (transport.rank() != 4) return;
        std::printf("accuracy %.1f %%\n", 100.0 * found.accuracy);
        good = found.accuracy > 0.5 && latest > 4;
    });
    return good ? 0 : 1;
} catch (...) {
    return sotto::report_exception();  // prints the error, returns an exit_code
}
