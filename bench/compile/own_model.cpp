// A model of the user's own, trained by Deep Gradient Compression with checkpoints and a progress
// bar.

#include <sotto/sotto.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

struct point {
    float x, y;
};

struct line {
    using batch_type = std::vector<point>;
    std::int64_t size() const { return 4'000; }
    void gather(std::span<const std::int64_t> indices, batch_type& batch) const {
        batch.clear();
        for (const std::int64_t i : indices) {
            const float x = static_cast<float>(i % 200) / 100.0f - 1.0f;
            batch.push_back({x, 3.0f * x - 0.5f});
        }
    }
};

class linear_model {
public:
    using batch_type = line::batch_type;
    linear_model() { layout_.add("weight", {1}).add("bias", {1}, sotto::tensor_kind::bias); }
    const sotto::layout& layout() const { return layout_; }
    void initialise(std::span<float> parameters, sotto::random_stream) const {
        parameters[0] = parameters[1] = 0.0f;
    }
    double gradient(std::span<const float> parameters, const batch_type& batch,
                    std::span<float> out, auto&& on_ready) {
        double loss = 0.0;
        out[0] = out[1] = 0.0f;
        for (const point& p : batch) {
            const float error = parameters[0] * p.x + parameters[1] - p.y;
            loss += static_cast<double>(error * error);
            out[0] += 2.0f * error * p.x / static_cast<float>(batch.size());
            out[1] += 2.0f * error / static_cast<float>(batch.size());
        }
        for (const sotto::tensor& t : layout_) on_ready(t);
        return loss / static_cast<double>(batch.size());
    }

private:
    sotto::layout layout_;
};

int main() try {
    sotto::run_in_process(4, [](sotto::in_process& transport) {
        linear_model model;
        sotto::trainer trainer{model,
                               sotto::all_reduce{sotto::sgd{.learning_rate = 0.1},
                                                 sotto::dgc{.density = 0.01, .momentum = 0.9}},
                               transport};
        trainer.try_resume("checkpoints");
        trainer.fit(line{}, sotto::epochs{5}, sotto::progress_bar{},
                    sotto::checkpoints{"checkpoints"});
    });
} catch (...) {
    return sotto::report_exception();
}
