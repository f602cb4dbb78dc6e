// A job of a parameter server over TCP whose processes are killed: trains on MNIST with a server
// and some workers, each a process of this machine, kills some of them at a random moment and
// starts them again, and writes how it ended as one JSON object. See kills.py, which does it many
// times.

#include <sotto/sotto.hpp>
#include <sotto/transports/tcp.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

namespace {

struct settings {
    std::string data, out, folder;
    std::string victims = "none";
    int workers = 4;
    double rate = 0.05;
    std::int64_t passes = 5, examples = 12000, batch_size = 32;
    std::uint64_t seed = 1;
    double within = 2.0;  // seconds
    bool again = true;    // those that were killed are started again
};

/// One rank, in a process of its own; what it saw goes to a file.
void be_rank(const settings& s, const sotto::tcp_options& options,
             std::unique_ptr<sotto::tcp::meeting> meeting, const std::filesystem::path& told) {
    using namespace sotto;
    const auto folder = s.data + "/mnist/";
    const auto digits =
        data::read_idx(folder + "train-images-idx3-ubyte.gz", folder + "train-labels-idx1-ubyte.gz")
            .take(0, s.examples);
    tcp transport = meeting ? meeting->join() : tcp::join(options);
    std::ofstream(told.string() + ".there").put('1');
    models::mlp model{784, 64, 64, 10};
    const parameter_server strategy{
        sgd{.learning_rate = s.rate}, asynchronous{}, delay_compensation_adaptive{}, none{},
        serving{.dedicated = true,
                .survives = true,
                .patience = 30.0,
                .checkpoints = std::filesystem::path(s.folder) / "checkpoints",
                .every = 100}};
    trainer trainer{model, strategy, transport, {.batch_size = s.batch_size, .seed = s.seed}};
    const fit_report done = trainer.fit(digits, epochs{s.passes});
    nlohmann::json lost = nlohmann::json::array();
    for (const rank_change& change : trainer.state().losses())
        lost.push_back({{"rank", change.rank}, {"why", change.cause}});
    nlohmann::json found{{"rank", transport.rank()}, {"steps", done.steps}, {"lost", lost}};
    if (transport.rank() == 0) {
        const auto unseen = data::read_idx(folder + "t10k-images-idx3-ubyte.gz",
                                           folder + "t10k-labels-idx1-ubyte.gz");
        found["test_error"] = 100.0 * (1.0 - trainer.evaluate(unseen).accuracy);
        found["server_steps"] = trainer.state().server()->version();
    }
    std::ofstream(told) << found.dump() << "\n";
}

class job {
public:
    explicit job(const settings& s) : settings_(s), ids_(static_cast<std::size_t>(s.workers) + 1) {
        options_.size = s.workers + 1;
        options_.port = 0;
        options_.elastic = true;
        first_ = std::make_unique<sotto::tcp::meeting>(options_);
        options_.port = first_->port();
        for (int rank = 0; rank < options_.size; ++rank) start(rank);
        first_.reset();
    }

    void start(int rank) {
        const pid_t id = ::fork();
        if (id < 0) throw std::runtime_error("no process for a rank");
        if (id != 0) {
            ids_[static_cast<std::size_t>(rank)] = id;
            return;
        }
        int status = 1;
        try {
            sotto::tcp_options own = options_;
            own.rank = rank;
            auto meeting = rank == 0 ? std::move(first_) : nullptr;
            first_.reset();
            be_rank(settings_, own, std::move(meeting), told_by(rank));
            status = 0;
        } catch (const std::exception& e) {
            std::fprintf(stderr, "rank %d: %s\n", rank, e.what());
        }
        ::_exit(status);
    }

    /// Until all ranks have met.
    void wait_until_there() const {
        for (int rank = 0; rank < options_.size; ++rank)
            while (!std::filesystem::exists(told_by(rank).string() + ".there"))
                std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }

    /// Whether it was there to be killed.
    bool kill(int rank) {
        int status = 0;
        pid_t& id = ids_[static_cast<std::size_t>(rank)];
        if (::waitpid(id, &status, WNOHANG) != 0) {  // it is done already
            id = 0;
            return false;
        }
        ::kill(id, SIGKILL);
        ::waitpid(std::exchange(id, 0), &status, 0);
        return true;
    }

    /// How many ranks ended otherwise than they should; none is waited for longer than that.
    int wait(std::chrono::seconds most) {
        const auto until = std::chrono::steady_clock::now() + most;
        int wrong = 0;
        for (pid_t& id : ids_) {
            int status = 0;
            while (id != 0 && ::waitpid(id, &status, WNOHANG) == 0) {
                if (std::chrono::steady_clock::now() < until) {
                    std::this_thread::sleep_for(std::chrono::milliseconds(5));
                    continue;
                }
                ::kill(id, SIGKILL);
                ::waitpid(id, &status, 0);
                hung_ = true;
                break;
            }
            if (id != 0 && status != 0) ++wrong;
            id = 0;
        }
        return wrong;
    }

    std::filesystem::path told_by(int rank) const {
        return std::filesystem::path(settings_.folder) / ("rank" + std::to_string(rank) + ".json");
    }
    bool hung() const noexcept { return hung_; }

private:
    settings settings_;
    sotto::tcp_options options_;
    std::unique_ptr<sotto::tcp::meeting> first_;
    std::vector<pid_t> ids_;
    bool hung_ = false;
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
    app.add_option("--within", s.within,
                   "Seconds from when all have met, in which the moment lies");
    app.add_flag("!--for-good", s.again, "Those that were killed are not started again");
    CLI11_PARSE(app, argc, argv);

    std::filesystem::remove_all(s.folder);
    std::filesystem::create_directories(s.folder);
    sotto::random_stream random = sotto::random_stream(s.seed).split("kills");
    const std::vector<int> victims = victims_of(s, random.split("victims"));
    job all(s);
    all.wait_until_there();
    const auto began = std::chrono::steady_clock::now();
    const double moment = s.within * random.uniform();
    nlohmann::json killed = nlohmann::json::array();
    if (!victims.empty()) {
        std::this_thread::sleep_for(std::chrono::duration<double>(moment));
        for (const int rank : victims)
            if (all.kill(rank)) killed.push_back(rank);
        if (s.again)
            for (const auto& rank : killed) all.start(rank.get<int>());
    }
    const int wrong = all.wait(std::chrono::seconds(120));
    nlohmann::json found{
        {"victims", s.victims},
        {"again", s.again},
        {"seed", s.seed},
        {"moment", moment},
        {"killed", killed},
        {"ended_wrongly", wrong},
        {"hung", all.hung()},
        {"seconds",
         std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count()}};
    for (int rank = 0; rank <= s.workers; ++rank)
        if (std::ifstream in(all.told_by(rank)); in)

            found["ranks"].push_back(nlohmann::json::parse(in));
    std::ofstream(s.out) << found.dump() << "\n";
    std::filesystem::remove_all(s.folder);
    return 0;
}
