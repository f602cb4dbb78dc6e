// A user-written model in plain arrays: y = v . tanh(W x + b) + c, trained with squared error.

#include <sotto/sotto.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <vector>

struct sample {
    std::array<float, 2> x;
    float y;
};

// A user-written data set: its size, and `gather`, which makes the batches that the model reads.
struct surface {
    using batch_type = std::vector<sample>;
    std::vector<sample> samples;

    explicit surface(std::int64_t count, sotto::random_stream random) {
        for (std::int64_t i = 0; i < count; ++i) {
            const float a = 2.0f * random.uniform() - 1.0f, b = 2.0f * random.uniform() - 1.0f;
            samples.push_back({{a, b}, std::sin(3.0f * a) * b});
        }
    }
    std::int64_t size() const { return std::ssize(samples); }
    void gather(std::span<const std::int64_t> indices, batch_type& batch) const {
        batch.clear();
        for (const std::int64_t i : indices) batch.push_back(samples[std::size_t(i)]);
    }
};

class two_layers {
public:
    using batch_type = surface::batch_type;

    two_layers() {
        using enum sotto::tensor_kind;
        tensors_.add("W", {units, 2}).add("b", {units}, bias).add("v", {units}).add("c", {1}, bias);
    }

    const sotto::layout& layout() const { return tensors_; }

    // The stream is the same on every rank, so all replicas start with the same parameters.
    void initialise(std::span<float> parameters, sotto::random_stream random) const {
        for (float& w : parameters) w = 0.7f * random.normal();
        parameters[4 * units] = 0.0f;
    }

    // Writes the gradient of the batch's mean loss at the parameters `p` and returns that loss. The
    // model does not store the parameters.
    double gradient(std::span<const float> p, const batch_type& batch, std::span<float> out,
                    auto&& on_ready) {
        std::ranges::fill(out, 0.0f);
        double total = 0.0;
        for (const sample& s : batch) {
            const float off = respond(p, s.x) - s.y;
            total += 0.5 * double{off} * double{off};
            const float d = off / float(batch.size());
            for (std::size_t i = 0; i < units; ++i) {
                const float inner = d * p[3 * units + i] * (1.0f - h_[i] * h_[i]);
                out[2 * i] += inner * s.x[0];
                out[2 * i + 1] += inner * s.x[1];
                out[2 * units + i] += inner;
                out[3 * units + i] += d * h_[i];
            }
            out[4 * units] += d;
        }
        for (const sotto::tensor& t : tensors_) on_ready(t);  // final: it can be sent
        return total / double(batch.size());
    }

    // Optional: evaluate_on and evaluate call it.
    double loss(std::span<const float> p, const batch_type& batch) {
        double total = 0.0;
        for (const sample& s : batch) total += 0.5 * std::pow(double{respond(p, s.x) - s.y}, 2.0);
        return total / double(batch.size());
    }

private:
    static constexpr std::size_t units = 32;

    float respond(std::span<const float> p, const std::array<float, 2>& x) {
        float y = p[4 * units];
        for (std::size_t i = 0; i < units; ++i) {
            h_[i] = std::tanh(p[2 * i] * x[0] + p[2 * i + 1] * x[1] + p[2 * units + i]);
            y += p[3 * units + i] * h_[i];
        }
        return y;
    }

    sotto::layout tensors_;
    std::array<float, units> h_{};
};

int main() try {
    const surface seen(4'000, sotto::random_stream{1}), unseen(1'000, sotto::random_stream{2});
    bool good = true;
    sotto::run_in_process(4, [&](sotto::in_process& transport) {
        two_layers model;
        sotto::trainer trainer{
            model, sotto::all_reduce{sotto::sgd{.learning_rate = 0.1}, sotto::dgc{.density = 0.05}},
            transport};
        const auto report = trainer.fit(seen, sotto::epochs{60}, sotto::evaluate_on{unseen});
        if (transport.rank() != 0) return;
        std::printf("loss on unseen data %.5f; that of 0 everywhere is 0.08\n",
                    report.evaluated->loss);
        good = report.evaluated->loss < 0.02;
    });
    return good ? 0 : 1;
} catch (...) {
    return sotto::report_exception();  // prints the error, returns an exit_code
}
