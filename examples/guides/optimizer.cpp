// A user-written optimizer: Lion, which moves every weight by the same amount, up or down.

#include <sotto/models.hpp>
#include <sotto/sotto.hpp>

#include <cstddef>
#include <cstdio>
#include <span>
#include <vector>

// c = b1 m + (1 - b1) g;  w -= rate sign(c);  m = b2 m + (1 - b2) g   (arXiv:2302.06675)
struct lion {
    double learning_rate = 0.001, beta1 = 0.9, beta2 = 0.99;

    class state;
    state bind(const sotto::layout& tensors) const;
};

class lion::state {
public:
    state(const lion& options, const sotto::layout& tensors)
        : options_(options), tensors_(tensors), m_(std::size_t(tensors.size())) {}

    // May throw, so it does not change parameters or momentum.
    void begin_step(const sotto::step_info& step, std::span<const float>) {
        rate_ = float(options_.learning_rate * step.rate_factor);
    }

    // Must not throw: all ranks have agreed on the step.
    void update(const sotto::tensor& t, std::span<float> w, std::span<const float> g) noexcept {
        const auto b1 = float(options_.beta1), b2 = float(options_.beta2);
        const std::span<float> m = t.of(std::span(m_));
        for (std::size_t i = 0; i < w.size(); ++i) {
            const float c = b1 * m[i] + (1.0f - b1) * g[i];
            w[i] -= rate_ * float((c > 0.0f) - (c < 0.0f));
            m[i] = b2 * m[i] + (1.0f - b2) * g[i];
        }
    }

    // Lists what checkpoints save.
    void visit(auto&& field) {
        for (const sotto::tensor& t : tensors_)
            field(sotto::joined_name("lion/", t.name), t.of(std::span(m_)));
    }

private:
    lion options_;
    sotto::layout tensors_;
    std::vector<float> m_;
    float rate_ = 0.0f;
};

lion::state lion::bind(const sotto::layout& tensors) const {
    return {*this, tensors};
}

int main() try {
    const auto digits = sotto::data::digits(2'000, sotto::random_stream{1});
    const auto unseen = sotto::data::digits(1'000, sotto::random_stream{2});
    bool good = true;
    sotto::run_in_process(4, [&](sotto::in_process& transport) {
        sotto::models::mlp model{784, 64, 10};
        const sotto::all_reduce strategy{sotto::scheduled{lion{}, sotto::cosine{.epochs = 5}},
                                         sotto::fp16{}};
        sotto::trainer trainer{model, strategy, transport};
        const auto report = trainer.fit(digits, sotto::epochs{5}, sotto::evaluate_on{unseen});
        if (transport.rank() != 0) return;
        std::printf("accuracy %.1f %%\n", 100.0 * report.evaluated->accuracy);
        good = report.evaluated->accuracy > 0.6;
    });
    return good ? 0 : 1;
} catch (...) {
    return sotto::report_exception();  // prints the error, returns an exit_code
}
