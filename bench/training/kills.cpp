// A job of a parameter server over TCP whose processes are killed: trains on MNIST with a server
// and some workers, each a process of this machine, kills some of them at a random moment of the
// training and starts them again, and writes how it ended as one JSON object. See kills.py, which
// does it many times.

#include <sotto/models.hpp>
#include <sotto/sotto.hpp>
#include <sotto/transports/tcp.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "processes.hpp"
#include "study.hpp"

namespace {

struct settings {
    std::string data, out, folder;
    std::string victims = "none";
    int workers = 4;
    double rate = 0.05;
    std::int64_t passes = 10, examples = 12000, batch_size = 32;
    std::uint64_t seed = 1;
    bool again = true;  // those that were killed are started again

    std::int64_t rounds() const noexcept {  // of a worker that nobody kills
        const std::int64_t share = examples / workers;
        return passes * ((share + batch_size - 1) / batch_size);
    }
};

constexpr std::chrono::seconds at_most{120};  // from the kill to the end

/// Read once, before there are other processes: who is started again is there soon.
struct digits {
    explicit digits(const settings& s)
        : train(study::mnist(s.data, false).take(0, s.examples)),
          unseen(study::mnist(s.data, true)) {}

    sotto::data::labelled_set train, unseen;
};

/// One rank, in a process of its own: what it saw.
nlohmann::json be_rank(const settings& s, const digits& data, const sotto::tcp_options& options,
                       std::unique_ptr<sotto::tcp::meeting> meeting, study::shared_count& there,
                       study::shared_count& rounds) {
    using namespace sotto;
    tcp transport = meeting ? meeting->join() : tcp::join(options);
    there.add();
    models::mlp model{784, 64, 64, 10};
    const parameter_server strategy{
        sgd{.learning_rate = s.rate}, asynchronous{}, delay_compensation_adaptive{}, none{},
        serving{.dedicated = true,
                .survives = true,
                .patience = 30.0,
                .checkpoints = std::filesystem::path(s.folder) / "checkpoints",
                .every = 100}};
    trainer trainer{model, strategy, transport, {.batch_size = s.batch_size, .seed = s.seed}};
    const fit_report done =
        trainer.fit(data.train, epochs{s.passes}, [&](const step_report&) { rounds.add(); });
    nlohmann::json lost = nlohmann::json::array();
    for (const sotto::detail::rank_loss& change : trainer.state().losses())
        lost.push_back({{"rank", change.rank}, {"why", change.cause}});
    nlohmann::json found{{"rank", transport.rank()}, {"steps", done.steps}, {"lost", lost}};
    if (transport.rank() == 0) {
        found["test_error"] = 100.0 * (1.0 - trainer.evaluate(data.unseen).accuracy);
        found["server_steps"] = trainer.state().server()->version();
    }
    return found;
}

class job {
public:
    explicit job(const settings& s) : settings_(s), data_(s), ranks_(s.folder, s.workers + 1) {
        options_.size = s.workers + 1;
        options_.port = 0;
        options_.elastic = true;
        options_.join = std::chrono::seconds(15);  // who comes when all is over waits so long
        first_ = std::make_unique<sotto::tcp::meeting>(options_);
        options_.port = first_->port();
        for (int rank = 0; rank < options_.size; ++rank) start(rank);
        first_.reset();
        if (!there_.reaches(options_.size, at_most))
            throw std::runtime_error("the ranks of the job have not met");
    }

    void start(int rank) {
        ranks_.start(rank, [&] {
            sotto::tcp_options own = options_;
            own.rank = rank;
            auto meeting = rank == 0 ? std::move(first_) : nullptr;
            first_.reset();
            return be_rank(settings_, data_, own, std::move(meeting), there_, rounds_);
        });
    }

    /// Waits until the workers have done so many rounds together, and `fraction` of another one;
    /// false if that does not come.
    bool wait_for(std::int64_t rounds, double fraction) {
        const auto began = std::chrono::steady_clock::now();
        if (!rounds_.reaches(rounds, at_most)) return false;
        const double one = study::seconds_since(began) * settings_.workers /
                           static_cast<double>(std::max<std::int64_t>(rounds_.value(), 1));
        std::this_thread::sleep_for(std::chrono::duration<double>(fraction * one));
        return true;
    }
    std::int64_t rounds() const noexcept { return rounds_.value(); }

    /// Those that were there to be killed.
    std::vector<int> kill(const std::vector<int>& ranks) { return ranks_.kill(ranks); }

    /// Until all have ended: how each did.
    nlohmann::json endings() {
        ranks_.wait(at_most);
        nlohmann::json all = ranks_.endings();
        for (std::size_t rank = 0; rank < all.size(); ++rank) all[rank]["rank"] = rank;
        return all;
    }

private:
    settings settings_;
    digits data_;
    sotto::tcp_options options_;
    std::unique_ptr<sotto::tcp::meeting> first_;
    study::shared_count there_, rounds_;
    study::processes ranks_;
};

std::vector<int> victims_of(const settings& s, sotto::random_stream random) {
    if (s.victims == "none") return {};
    if (s.victims == "server") return {0};
    std::vector<int> workers;
    for (int rank = 1; rank <= s.workers; ++rank) workers.push_back(rank);
    for (std::size_t i = workers.size(); i > 1; --i)
        std::swap(workers[i - 1], workers[random.below(i)]);
    workers.resize(s.victims == "half" ? workers.size() / 2 : 1);
    return workers;
}

}  // namespace

int main(int argc, char** argv) {
    settings s;
    CLI::App app{"Kills processes of a job, and looks how it ends"};
    app.add_option("--data", s.data, "Folder that holds mnist/")->required()->envname("SOTTO_DATA");
    app.add_option("--victims", s.victims)
        ->check(CLI::IsMember({"none", "worker", "half", "server"}));
    app.add_option("--out", s.out, "Where the result goes")->required();
    app.add_option("--folder", s.folder, "For this run alone")->required();
    app.add_option("--workers", s.workers)->check(CLI::PositiveNumber);
    app.add_option("--learning-rate", s.rate);
    app.add_option("--passes", s.passes);
    app.add_option("--seed", s.seed);
    app.add_flag("!--for-good", s.again, "Those that were killed are not started again");
    CLI11_PARSE(app, argc, argv);

    std::filesystem::remove_all(s.folder);
    std::filesystem::create_directories(s.folder);
    sotto::random_stream random = sotto::random_stream(s.seed).split("kills of " + s.victims);
    const std::vector<int> victims = victims_of(s, random.split("victims"));
    job all(s);
    // Before the workers have done all their rounds, so that it falls within the training.
    const std::int64_t total = s.workers * s.rounds();
    const auto after =
        static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(total - s.workers)));
    const double fraction = random.uniform();
    std::vector<int> killed;
    std::int64_t rounds = 0;
    const auto began = std::chrono::steady_clock::now();
    if (!victims.empty() && all.wait_for(after, fraction)) {
        rounds = all.rounds();
        killed = all.kill(victims);
        if (s.again)
            for (const int rank : killed) all.start(rank);
    }
    const nlohmann::json ranks = all.endings();
    const nlohmann::json found{{"victims", s.victims}, {"again", s.again},
                               {"seed", s.seed},       {"rounds_of_all", total},
                               {"drawn", after},       {"fraction", fraction},
                               {"rounds", rounds},     {"killed", killed},
                               {"asked", victims},     {"seconds", study::seconds_since(began)},
                               {"ranks", ranks}};
    std::ofstream(s.out) << found.dump() << "\n";
    std::filesystem::remove_all(s.folder);
    return 0;
}
