// Trains a user-written model (a gradient_source with plain loops) on a user-written data set.

#include <sotto/sotto.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <span>
#include <vector>

#include "transport.hpp"

// A data set of points on two noisy spirals. Its `gather` makes the batches that the model reads.
struct spirals {
    struct point {
        float x, y, label;  // label: 0 or 1
    };
    using batch_type = std::vector<point>;

    explicit spirals(std::int64_t count, sotto::random_stream random) {
        for (std::int64_t i = 0; i < count; ++i) {
            const float label = static_cast<float>(i % 2), t = 0.5f + 2.5f * random.uniform();
            const float angle = 2.0f * t + 3.14159265f * label;
            points.push_back({t * std::cos(angle) + 0.08f * random.normal(),
                              t * std::sin(angle) + 0.08f * random.normal(), label});
        }
    }

    std::int64_t size() const { return static_cast<std::int64_t>(points.size()); }
    void gather(std::span<const std::int64_t> indices, batch_type& batch) const {
        batch.clear();
        for (const std::int64_t i : indices) batch.push_back(points[static_cast<std::size_t>(i)]);
    }

    std::vector<point> points;
};

// Logistic regression on random Fourier features: p = sigmoid(w . cos(F x + phase) + b). F and
// phase are fixed; w and b are trained.
class fourier_features {
public:
    using batch_type = spirals::batch_type;
    static constexpr std::size_t features = 512;

    explicit fourier_features(sotto::random_stream random) {
        tensors_.add("weight", {features, 1}).add("bias", {1}, sotto::tensor_kind::bias);
        for (auto& f : frequencies_)
            f = {1.5f * random.normal(), 1.5f * random.normal(), 6.2831853f * random.uniform()};
    }

    const sotto::layout& layout() const { return tensors_; }
    void initialise(std::span<float> parameters, sotto::random_stream) const {
        std::ranges::fill(parameters, 0.0f);
    }

    // Writes the gradient of the batch's mean loss and returns that loss.
    double gradient(std::span<const float> parameters, const batch_type& batch,
                    std::span<float> out, auto&& on_ready) {
        std::ranges::fill(out, 0.0f);
        double total = 0.0;
        for (const spirals::point& p : batch) {
            const double logit = respond(parameters, p);
            total += std::log1p(std::exp(p.label > 0.5f ? -logit : logit));
            const auto slope = static_cast<float>((1.0 / (1.0 + std::exp(-logit)) - p.label) /
                                                  double(batch.size()));
            for (std::size_t i = 0; i < features; ++i) out[i] += slope * response_[i];
            out[features] += slope;
        }
        for (const sotto::tensor& t : tensors_) on_ready(t);  // both are final and can be sent
        return total / static_cast<double>(batch.size());
    }

    // Optional: evaluate_on calls it to measure the loss on other data.
    double loss(std::span<const float> parameters, const batch_type& batch) {
        double total = 0.0;
        for (const spirals::point& p : batch) {
            const double logit = respond(parameters, p);
            total += std::log1p(std::exp(p.label > 0.5f ? -logit : logit));
        }
        return total / static_cast<double>(batch.size());
    }

private:
    double respond(std::span<const float> parameters, const spirals::point& p) {
        double logit = parameters[features];
        for (std::size_t i = 0; i < features; ++i) {
            response_[i] =
                std::cos(frequencies_[i][0] * p.x + frequencies_[i][1] * p.y + frequencies_[i][2]);
            logit += double(parameters[i]) * response_[i];
        }
        return logit;
    }

    sotto::layout tensors_;
    std::array<std::array<float, 3>, features> frequencies_;
    std::array<float, features> response_{};
};

int train(const examples::transport_options& chosen, bool quick) {
    const sotto::random_stream random(7);
    const spirals points(quick ? 1'000 : 4'000, random.split("points")),
        unseen(1'000, random.split("unseen"));

    bool learnt = true;
    examples::with_transport(chosen, [&](auto& transport) {
        fourier_features model(random.split("features"));
        sotto::trainer trainer{
            model,
            sotto::all_reduce{sotto::sgd{.learning_rate = 0.02},
                              sotto::dgc{.density = 0.02, .momentum = 0.9, .warm_up_epochs = 1}},
            transport,
            {.batch_size = 16}};
        const auto report =
            trainer.fit(points, sotto::epochs{quick ? 8 : 15}, sotto::evaluate_on{unseen});
        if (transport.rank() != 0) return;
        const double loss = report.evaluated->loss;
        std::printf(
            "test loss %.4f after %.1f s; a guess has 0.6931; gradients sent %.0f times smaller\n",
            loss, report.seconds,
            static_cast<double>(report.total.dense_bytes) /
                static_cast<double>(report.total.message_bytes));
        learnt = loss < 0.3;
    });
    return learnt ? 0 : 1;
}

int main(int argc, char** argv) {
    examples::transport_options transport;
    bool quick = false;
    CLI::App app{"Trains a model of one's own on data of its own kind", "your_own_model"};
    examples::add_transport(app, transport);
    app.add_flag("--quick", quick, "The same in seconds");
    return examples::run(app, argc, argv, [&] { return train(transport, quick); });
}
