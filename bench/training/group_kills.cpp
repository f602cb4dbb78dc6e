// Two groups that teach each other, each a job of its own over TCP, which meet in a folder:
// SIGKILL ends all processes of the second at a random moment of the training. Writes as one JSON
// object how fast the first went before and after it, and how it ended. See codistillation.py,
// which does it many times.

#include <sotto/models.hpp>
#include <sotto/sotto.hpp>
#include <sotto/transports/tcp.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "processes.hpp"
#include "study.hpp"

namespace {

struct settings {
    std::string data, out, folder;
    std::string victims = "group";  // or: none; or that nobody teaches: alone
    int ranks = 2;                  // of a group
    double rate = 0.05, momentum = 0.9, noise = 0.3;
    std::int64_t examples = 12000, batch_size = 32, steps = 2500;
    std::uint64_t seed = 1;

    int process(int group, int rank) const noexcept { return group * ranks + rank; }
};

constexpr std::chrono::seconds at_most{300};
constexpr int groups = 2, survivor = 0, victim = 1;

using seconds = std::chrono::duration<double>;

/// By the clock that all processes share.
double clock_seconds() {
    return seconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct digits {
    explicit digits(const settings& s)
        : train(sotto::data::noisy_labels(study::mnist(s.data, false).take(0, s.examples), s.noise,
                                          sotto::random_stream{17})),
          unseen(study::mnist(s.data, true)) {}

    sotto::data::labelled_set train, unseen;
};

/// One rank of a group: what it saw.
nlohmann::json be_rank(const settings& s, const digits& data, int group, sotto::tcp& transport,
                       study::shared_count& steps_of_survivor) {
    using namespace sotto;
    models::mlp model{784, 64, 64, 10};
    const codistillation strategy{
        all_reduce{momentum_sgd{.learning_rate = s.rate, .momentum = s.momentum}}, forward_kl{},
        checkpoint_exchange{.folder = std::filesystem::path(s.folder) / "models"},
        sotto::codistillation_groups{.count = groups, .burn_in = 100, .common = 1.0, .only = group},
        constant_weight{.weight = s.victims == "alone" ? 0.0 : 1.0}};
    trainer trainer{model, strategy, transport, {.batch_size = s.batch_size, .seed = s.seed}};
    std::vector<double> ended{clock_seconds()};  // each step
    std::int64_t heard = 0;
    trainer.fit(data.train, steps{s.steps}, [&](const step_report& step) {
        ended.push_back(clock_seconds());
        heard += step.round.taught.teachers > 0;
        if (group == survivor && transport.rank() == 0) steps_of_survivor.add();
    });
    return {{"group", group},
            {"rank", transport.rank()},
            {"heard", heard},
            {"ended_steps", ended},
            {"test_error", 100.0 * (1.0 - trainer.evaluate(data.unseen).accuracy)}};
}

/// Both groups' processes.
class jobs {
public:
    explicit jobs(const settings& s)
        : settings_(s), data_(s), all_(s.folder, s.process(groups, 0)) {
        for (int group = 0; group < groups; ++group) {
            sotto::tcp_options options;
            options.size = s.ranks;
            options.port = 0;
            auto meeting = std::make_unique<sotto::tcp::meeting>(options);
            options.port = meeting->port();
            for (int rank = 0; rank < s.ranks; ++rank) start(group, rank, options, meeting);
        }
    }

    /// When all of the second group were killed, after about so many steps of the first; none of
    /// them may have ended.
    double kill_group(std::int64_t after) {
        if (!steps_.reaches(after, at_most)) throw std::runtime_error("no step came");
        std::vector<int> all_of_it;
        for (int rank = 0; rank < settings_.ranks; ++rank)
            all_of_it.push_back(settings_.process(victim, rank));
        if (all_.kill(all_of_it) != all_of_it)
            throw std::runtime_error("the second group had ended already");
        return clock_seconds();
    }

    nlohmann::json endings() {
        all_.wait(at_most);
        return all_.endings();
    }

private:
    void start(int group, int rank, sotto::tcp_options options,
               std::unique_ptr<sotto::tcp::meeting>& meeting) {
        options.rank = rank;
        all_.start(settings_.process(group, rank), [&] {
            const auto first = rank == 0 ? std::move(meeting) : nullptr;
            meeting.reset();  // of rank 0 alone
            sotto::tcp transport = first ? first->join() : sotto::tcp::join(options);
            return be_rank(settings_, data_, group, transport, steps_);
        });
    }

    settings settings_;
    digits data_;
    study::shared_count steps_;
    study::processes all_;
};

double median(std::vector<double> values) {
    const auto middle = values.begin() + std::ssize(values) / 2;
    std::ranges::nth_element(values, middle);
    return *middle;
}

/// Of the steps that one rank ended from `from` on and before `to`: the median and the longest.
nlohmann::json pace(const std::vector<double>& ended, double from, double to) {
    std::vector<double> took;
    for (std::size_t i = 1; i < ended.size(); ++i)
        if (ended[i] >= from && ended[i] < to) took.push_back(ended[i] - ended[i - 1]);
    if (took.empty()) return nullptr;
    return {{"steps", took.size()},
            {"median", median(took)},
            {"longest", *std::ranges::max_element(took)},
            {"steps_a_second",
             static_cast<double>(took.size()) / std::accumulate(took.begin(), took.end(), 0.0)}};
}

}  // namespace

int main(int argc, char** argv) {
    settings s;
    CLI::App app{"Kills a group of a job, and looks how the other ends"};
    app.add_option("--data", s.data, "Folder that holds mnist/")->required()->envname("SOTTO_DATA");
    app.add_option("--out", s.out, "Where the result goes")->required();
    app.add_option("--victims", s.victims)->check(CLI::IsMember({"none", "group", "alone"}));
    app.add_option("--ranks", s.ranks, "Of a group")->check(CLI::PositiveNumber);
    app.add_option("--steps", s.steps);
    app.add_option("--seed", s.seed);
    CLI11_PARSE(app, argc, argv);

    s.folder = s.out + ".folder";
    std::filesystem::remove_all(s.folder);
    std::filesystem::create_directories(s.folder);
    // After burn-in, and while there is time left in which it could be missed.
    const std::int64_t after =
        200 + static_cast<std::int64_t>(sotto::random_stream(s.seed)
                                            .split("kill of a group")
                                            .below(static_cast<std::uint64_t>(s.steps - 700)));
    nlohmann::json found{{"victims", s.victims}, {"seed", s.seed}};
    jobs all(s);
    double killed = clock_seconds() + 1e6;
    if (s.victims == "group") killed = all.kill_group(after);
    const nlohmann::json endings = all.endings();
    for (const auto& one : endings) {
        if (one.contains("error")) throw std::runtime_error(one["error"].get<std::string>());
        if (one["hung"]) throw std::runtime_error("a rank hung");
    }
    const nlohmann::json& first = endings[static_cast<std::size_t>(s.process(survivor, 0))];
    const auto ended = first["ended_steps"].get<std::vector<double>>();
    // Without the first steps, in which the groups meet.
    found["before"] = pace(ended, ended[100], killed);
    found["after"] = pace(ended, killed, killed + 1e6);
    found["test_error"] = first["test_error"];
    found["heard"] = first["heard"];
    found["steps"] = s.steps;
    std::ofstream(s.out) << found.dump() << "\n";
    std::filesystem::remove_all(s.folder);
    return 0;
}
