// How the cost of a training grows with the number of tensors, from 1,000 to 20,000 as a mixture of
// experts has them: two ranks in one process, tensors of 16 floats. Each strategy trains with few
// and with many tensors in turns, each time in a new process. The least processor time of each
// counts. Checks that both ranks end with the parameters that a plain loop computes. Fails above
// the ratio that is allowed.
//   --table   a table of Markdown; else one JSON object

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "sotto/collectives/detail/fitting.hpp"
#include "sotto/compressors/none.hpp"
#include "sotto/compressors/power_sgd.hpp"
#include "sotto/compressors/residual.hpp"
#include "sotto/compressors/sparsified.hpp"
#include "sotto/compressors/top_k.hpp"
#include "sotto/strategies/parameter_server/consistency/bulk_synchronous.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/core/random.hpp"
#include "sotto/optimizers/adamw.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/staleness/no_compensation.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/strategies/gossip.hpp"
#include "sotto/strategies/local_updates.hpp"
#include "sotto/strategies/parameter_server.hpp"
#include "sotto/topologies/complete.hpp"
#include "sotto/trainer/checkpoints.hpp"
#include "sotto/logging/json_lines.hpp"
#include "sotto/logging/read_json_lines.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/run_in_process.hpp"

namespace {

struct settings {
    std::int64_t few = 1000, many = 20000, steps = 10;
    int turns = 3;
    double ratio_max = 25.0;
    bool table = false;
};

/// Names and shapes as those of a mixture of experts.
sotto::layout tensors_of(std::int64_t count) {
    sotto::layout tensors;
    for (std::int64_t i = 0; i < count; ++i)
        tensors.add("model.layers." + std::to_string(i / 64) + ".block_sparse_moe.experts." +
                        std::to_string(i % 64) + ".w1.weight",
                    {4, 4});
    return tensors;
}

/// Examples that consist of their numbers alone.
struct numbers {
    using batch_type = std::vector<std::int64_t>;
    std::int64_t size() const { return 64; }
    void gather(std::span<const std::int64_t> indices, batch_type& batch) const {
        batch.assign(indices.begin(), indices.end());
    }
};

/// A gradient of 1/64 everywhere, for each batch: sums of it are exact in any order.
class even_model {
public:
    using batch_type = numbers::batch_type;
    static constexpr float slope = 1.0f / 64;

    explicit even_model(std::int64_t tensors) : tensors_(tensors_of(tensors)) {}

    const sotto::layout& layout() const { return tensors_; }
    void initialise(std::span<float> parameters, sotto::random_stream) const {
        std::ranges::fill(parameters, 1.0f);
    }
    double gradient(std::span<const float>, const batch_type&, std::span<float> out,
                    auto&& on_ready) {
        const auto all = tensors_.tensors();
        for (auto t = all.rbegin(); t != all.rend(); ++t) {
            std::ranges::fill(t->of(out), slope);
            on_ready(*t);
        }
        return 0.0;
    }

private:
    sotto::layout tensors_;
};

/// The processor time of a process that runs this and ends. Each training has one: in a process
/// that has trained before, small trainings would find their memory there.
double seconds_alone(const std::function<void()>& run) {
    const pid_t child = ::fork();
    if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
    if (child == 0) {
        try {
            run();
            ::_exit(0);
        } catch (const std::exception& e) {
            std::fprintf(stderr, "many_tensors: %s\n", e.what());
            ::_exit(1);
        }
    }
    int status = 0;
    rusage used{};
    if (::wait4(child, &status, 0, &used) != child)
        throw std::system_error(errno, std::generic_category(), "wait4");
    if (status != 0) throw std::runtime_error("a training failed");
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}

/// Trains by two ranks, from the model to the end.
template <class Strategy, class... Extras>
void train(const settings& s, std::int64_t tensors, const Strategy& strategy, bool is_plain,
           Extras&&... extras) {
    sotto::run_in_process(2, {}, [&](sotto::in_process& rank) {
        even_model model(tensors);
        sotto::trainer trainer{model, strategy, rank, {.batch_size = 4}};
        trainer.fit(numbers{}, sotto::steps{s.steps}, extras...);
        if (!is_plain) return;
        const float expected =
            1.0f - static_cast<float>(s.steps) * even_model::slope * 0.5f;  // rate 0.5
        for (const float w : trainer.parameters())
            if (w != expected)
                throw std::runtime_error("a parameter is " + std::to_string(w) + "; expected " +
                                         std::to_string(expected));
    });
}

struct part {
    const char* name;
    std::function<void(std::int64_t tensors)> run;
};

std::vector<part> parts_of(const settings& s, const std::filesystem::path& folder) {
    using namespace sotto;
    const sgd plain{.learning_rate = 0.5};
    const sparsified entries{top_k{.density = 0.25}, residual{}};
    std::vector<part> all;
    const auto add = [&](const char* name, const auto& strategy, bool is_plain = false) {
        all.push_back({name, [&s, strategy, is_plain](std::int64_t tensors) {
                           train(s, tensors, strategy, is_plain);
                       }});
    };
    add("all_reduce, small tensors in groups", all_reduce{plain}, true);
    add("all_reduce, each tensor alone",
        all_reduce{plain, none{}, sotto::detail::collectives::fitting{}, 0}, true);
    add("all_reduce of entries", all_reduce{plain, entries});
    add("all_reduce, power_sgd", all_reduce{plain, power_sgd{.rank = 1}});
    add("all_reduce, adamw", all_reduce{adamw{}});
    add("local_updates", local_updates{plain, all_reduce{sgd{.learning_rate = 1.0}}, {.every = 5}});
    add("gossip", gossip{plain, topologies::complete{}}, true);
    add("parameter_server, bulk_synchronous",
        parameter_server{plain, bulk_synchronous{}, no_compensation{}, none{}}, true);
    all.push_back({"all_reduce with checkpoints", [&s, plain, folder](std::int64_t tensors) {
                       std::filesystem::remove_all(folder / "checkpoints");
                       train(s, tensors, all_reduce{plain}, true,
                             checkpoints(folder / "checkpoints", {.every_steps = 5}));
                   }});
    all.push_back({"all_reduce with a log that is read", [&s, plain, folder](std::int64_t tensors) {
                       const auto path = folder / "run.jsonl";
                       std::filesystem::remove(path);
                       run_in_process(2, {}, [&](in_process& rank) {
                           even_model model(tensors);
                           trainer trainer{model, all_reduce{plain}, rank, {.batch_size = 4}};
                           json_lines log(path);
                           trainer.fit(numbers{}, steps{s.steps}, log);
                       });
                       if (read_json_lines(path).about.tensors.size() !=
                           static_cast<std::size_t>(tensors))
                           throw std::runtime_error("the log has other tensors");
                   }});
    return all;
}

int compare(const settings& s) {
    const auto folder = std::filesystem::temp_directory_path() /
                        ("sotto_many_tensors_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder);
    nlohmann::json rows = nlohmann::json::array();
    bool all_linear = true;
    for (const part& each : parts_of(s, folder)) {
        double few = std::numeric_limits<double>::infinity(), many = few;
        for (int turn = 0; turn < s.turns; ++turn) {
            few = std::min(few, seconds_alone([&] { each.run(s.few); }));
            many = std::min(many, seconds_alone([&] { each.run(s.many); }));
        }
        all_linear &= many <= s.ratio_max * few;
        rows.push_back({{"part", each.name}, {"few", few}, {"many", many}, {"ratio", many / few}});
    }
    std::filesystem::remove_all(folder);
    if (s.table) {
        std::printf("| part | %lld tensors, s | %lld tensors, s | ratio |\n|---|---|---|---|\n",
                    static_cast<long long>(s.few), static_cast<long long>(s.many));
        for (const auto& row : rows)
            std::printf("| %s | %.3f | %.2f | %.1f |\n", row["part"].get<std::string>().c_str(),
                        row["few"].get<double>(), row["many"].get<double>(),
                        row["ratio"].get<double>());
    } else {
        std::printf("%s\n", nlohmann::json{{"few", s.few},
                                           {"many", s.many},
                                           {"steps", s.steps},
                                           {"ratio_max", s.ratio_max},
                                           {"parts", rows}}
                                .dump()
                                .c_str());
    }
    if (!all_linear)
        std::fprintf(stderr, "many_tensors: a ratio is above %g; see the parts\n", s.ratio_max);
    return all_linear ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    settings s;
    CLI::App app{"How costs grow with the number of tensors"};
    app.add_option("--few", s.few, "tensors");
    app.add_option("--many", s.many, "tensors");
    app.add_option("--steps", s.steps, "of each training");
    app.add_option("--turns", s.turns, "Runs of each training; the shortest counts");
    app.add_option("--ratio-max", s.ratio_max, "that is allowed");
    app.add_flag("--table", s.table, "a table of Markdown");
    CLI11_PARSE(app, argc, argv);
    try {
        return compare(s);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "many_tensors: %s\n", e.what());
        return 1;
    }
}
