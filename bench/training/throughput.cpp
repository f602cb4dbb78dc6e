// Training throughput of one worker: forward, backward and a step of momentum SGD on batches that
// lie ready. `--export` writes the starting values and the batches, so that throughput.py trains
// the same models from the same weights on the same data; see throughput.sh, which compares the
// two.

#include <sotto/models/character_lstm.hpp>
#include <sotto/models/lenet.hpp>
#include <sotto/models/residual_cnn.hpp>
#include <sotto/models.hpp>
#include <sotto/sotto.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

// Missing in any other BLAS than OpenBLAS.
extern "C" [[gnu::weak]] char* openblas_get_corename();

namespace {

using sotto::data::labelled_batch;

constexpr int batches = 8, checked_steps = 10;
// Steps before a run begins anew: eight batches are soon known by heart, and gradients that vanish
// become subnormal numbers, on which processors are tens of times slower.
constexpr std::size_t steps_a_run = 200;
constexpr sotto::momentum_sgd optimizer{.learning_rate = 0.01, .momentum = 0.9};

struct settings {
    std::string folder;
    double seconds = 3.0;
};

std::vector<labelled_batch> images(std::int64_t size, std::int64_t width, std::int64_t classes) {
    std::vector<labelled_batch> all(batches, labelled_batch{size, width});
    sotto::random_stream random{7};
    for (labelled_batch& batch : all) {
        for (float& x : batch.inputs()) x = random.uniform();
        for (std::int32_t& y : batch.labels())
            y = static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(classes)));
    }
    return all;
}

// A text without sense: what it says does not change how long it takes.
std::vector<labelled_batch> text(std::int64_t size, std::int64_t length, std::int64_t vocabulary) {
    std::vector<labelled_batch> all(batches);
    sotto::random_stream random{7};
    const auto character = [&] {
        return static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(vocabulary)));
    };
    for (labelled_batch& batch : all) {
        batch.resize(size, length, length);
        for (float& x : batch.inputs()) x = static_cast<float>(character());
        for (std::int32_t& y : batch.labels()) y = character();
    }
    return all;
}

double thread_seconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

template <class T>
void write(std::ofstream& to, std::span<const T> values) {
    to.write(reinterpret_cast<const char*>(values.data()),
             static_cast<std::streamsize>(values.size_bytes()));
}

template <class Model>
class training {
public:
    training(Model model, std::vector<labelled_batch> data)
        : model_(std::move(model)),
          data_(std::move(data)),
          parameters_(static_cast<std::size_t>(model_.layout().size())),
          gradient_(parameters_.size()),
          state_(optimizer.bind(model_.layout())) {
        restart();
    }

    void restart() {
        model_.initialise(parameters_, sotto::random_stream{1});
        state_ = optimizer.bind(model_.layout());
        next_ = 0;
    }

    void save(const std::string& folder, const std::string& name) const {
        std::ofstream to(folder + "/" + name + ".f32", std::ios::binary);
        write<float>(to, parameters_);
        for (const labelled_batch& batch : data_) {
            write(to, batch.inputs());
            const std::vector<float> labels(batch.labels().begin(), batch.labels().end());
            write<float>(to, labels);
        }
        if (!to.flush()) throw sotto::io_failure("cannot write to " + folder);
    }

    double step() {
        const labelled_batch& batch = data_[next_++ % data_.size()];
        const double loss = model_.gradient(parameters_, batch, gradient_, [](const auto&) {});
        state_.begin_step({}, gradient_);
        for (const sotto::tensor& t : model_.layout())
            state_.update(t, t.of(std::span(parameters_)), t.of(std::span<const float>(gradient_)));
        return loss;
    }

    nlohmann::json measure(double seconds) {
        std::vector<double> losses, steps;
        for (int i = 0; i < checked_steps; ++i) losses.push_back(step());
        const auto now = [] { return std::chrono::steady_clock::now(); };
        const auto since = [&](auto start) {
            return std::chrono::duration<double>(now() - start).count();
        };
        double work = 0.0;
        const auto start = now();
        while (since(start) < seconds || steps.size() < 5) {
            if (next_ == steps_a_run) restart();
            const auto begin = now();
            const double before = thread_seconds();
            step();
            work += thread_seconds() - before;
            steps.push_back(since(begin));
        }
        return {{"blas", openblas_get_corename ? openblas_get_corename() : "unknown"},
                {"parameters", parameters_.size()},
                {"losses", losses},
                {"step_seconds", median(steps)},
                {"processor_seconds", work / static_cast<double>(steps.size())}};
    }

private:
    Model model_;
    std::vector<labelled_batch> data_;
    std::size_t next_ = 0;
    std::vector<float> parameters_, gradient_;
    sotto::momentum_sgd::state state_;
};

}  // namespace

int main(int argc, char** argv) {
    using namespace sotto;
    settings s;
    const auto run = [&](const std::string& name, auto model, std::vector<labelled_batch> data) {
        training trainer{std::move(model), std::move(data)};
        if (!s.folder.empty())
            trainer.save(s.folder, name);
        else
            std::puts(trainer.measure(s.seconds).dump().c_str());
    };
    const std::map<std::string, std::function<void()>> models{
        {"mlp",
         [&] {
             run("mlp", models::mlp{784, 256, 128, 10}, images(64, 784, 10));
         }},
        {"lenet", [&] { run("lenet", models::lenet{}, images(64, 784, 10)); }},
        {"residual_cnn",
         [&] { run("residual_cnn", models::residual_cnn{}, images(64, 3 * 32 * 32, 10)); }},
        {"character_lstm",
         [&] { run("character_lstm", models::character_lstm{65}, text(32, 64, 65)); }},
    };
    std::string which;
    CLI::App app{"Training throughput of one worker on one thread"};
    app.add_option("--model", which)->required()->check(CLI::IsMember(models));
    app.add_option("--seconds", s.seconds, "How long to measure");
    app.add_option("--export", s.folder, "Write starting values and batches there, and end");
    CLI11_PARSE(app, argc, argv);
    models.at(which)();
    return 0;
}
