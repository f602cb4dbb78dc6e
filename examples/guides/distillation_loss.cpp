// A user-written distillation loss: the Huber loss between a student's and its teachers' logits.
// Its gradient is bounded, so one output that is far off does not dominate.

#include <sotto/models.hpp>
#include <sotto/sotto.hpp>
#include <sotto/transports/run_simulated.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <utility>
#include <vector>

struct huber_logits {
    double delta = 1.0;

    // Adds `share` times a teacher's logits to the targets. The shares of all teachers sum to 1.
    void add(std::span<const float> teacher, std::size_t, double share,
             std::span<float> targets) const {
        for (std::size_t i = 0; i < teacher.size(); ++i) targets[i] += float(share * teacher[i]);
    }

    // Returns the mean over the rows of `outputs` logits.
    double value(std::span<const float> logits, std::size_t outputs,
                 std::span<const float> targets) const {
        double sum = 0.0;
        for (std::size_t i = 0; i < logits.size(); ++i) {
            const double off = std::abs(double{logits[i]} - double{targets[i]});
            sum += off <= delta ? 0.5 * off * off : delta * (off - 0.5 * delta);
        }
        return sum / rows(logits, outputs);
    }

    // Returns the same. Adds `weight` times its gradient to `out`, which holds the labels'
    // gradient.
    double gradient(std::span<const float> logits, std::size_t outputs,
                    std::span<const float> targets, double weight, std::span<float> out) const {
        for (std::size_t i = 0; i < logits.size(); ++i) {
            const double off = double{logits[i]} - double{targets[i]};
            out[i] += float(weight * std::clamp(off, -delta, delta) / rows(logits, outputs));
        }
        return value(logits, outputs, targets);
    }

private:
    static double rows(std::span<const float> logits, std::size_t outputs) {
        return std::max(1.0, double(logits.size()) / double(outputs));
    }
};

// Compares the gradient with central differences, on two rows of three logits.
bool is_derivative(const huber_logits& loss) {
    std::vector<float> z{0.5f, -1.0f, 2.0f, 0.0f, 3.0f, -0.25f}, out(6);
    const std::vector<float> targets{0.0f, 1.5f, 2.25f, 0.5f, -1.0f, 0.0f};
    loss.gradient(z, 3, targets, 2.0, out);
    for (std::size_t i = 0; i < z.size(); ++i) {
        const float at = std::exchange(z[i], z[i] + 0.01f);
        const double above = loss.value(z, 3, targets);
        z[i] = at - 0.01f;
        const double slope = (above - loss.value(z, 3, targets)) / 0.02;
        z[i] = at;
        if (std::abs(2.0 * slope - out[i]) > 0.001) return false;
    }
    return true;
}

int main() try {
    const auto digits = sotto::data::digits(4'000, sotto::random_stream{1});
    const auto unseen = sotto::data::digits(1'000, sotto::random_stream{2});
    bool good = is_derivative({});
    std::puts(good ? "the gradient is that of the value" : "the gradient is wrong");
    // Two groups of two ranks. In simulated time a model arrives at the same step in every run.
    sotto::run_simulated(4, {.seed = 1}, [&](sotto::simulated& transport) {
        sotto::models::mlp model{784, 64, 10};
        const sotto::codistillation strategy{
            sotto::all_reduce{sotto::momentum_sgd{.learning_rate = 0.02}},
            huber_logits{.delta = 2.0},
            sotto::transport_exchange{},
            {.count = 2, .every = 5, .burn_in = 50},
            sotto::constant_weight{.weight = 0.1}};
        sotto::trainer trainer{model, strategy, transport};
        std::int64_t heard = 0;
        const auto look = [&](const sotto::step_report& step) {
            heard += step.round.taught.teachers > 0 ? 1 : 0;
        };
        const auto report =
            trainer.fit(digits, sotto::epochs{15}, sotto::evaluate_on{unseen}, look);
        if (transport.rank() != 0) return;
        std::printf("accuracy %.1f %%, a teacher was heard in %lld of %lld steps\n",
                    100.0 * report.evaluated->accuracy, static_cast<long long>(heard),
                    static_cast<long long>(report.steps));
        good = good && report.evaluated->accuracy > 0.6 && heard > 0;
    });
    return good ? 0 : 1;
} catch (...) {
    return sotto::report_exception();  // prints the error, returns an exit_code
}
