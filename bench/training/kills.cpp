// A job of a parameter server over TCP whose processes are killed: trains on MNIST with a server
// and some workers, each a process of this machine, kills some of them at a random moment of the
// training and starts them again, and writes how it ended as one JSON object. See kills.py, which
// does it many times.

#include <sotto/sotto.hpp>
#include <sotto/transports/tcp.hpp>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

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

double seconds_since(std::chrono::steady_clock::time_point then) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - then).count();
}

/// How many rounds all workers have done: memory of all processes.
class progress {
    using counter = std::atomic<std::int64_t>;
    static_assert(counter::is_always_lock_free);

public:
    progress() {
        void* const memory = ::mmap(nullptr, sizeof(counter), PROT_READ | PROT_WRITE,
                                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) throw std::runtime_error("no memory for all processes");
        rounds_ = new (memory) counter(0);
    }
    progress(const progress&) = delete;
    progress& operator=(const progress&) = delete;
    ~progress() { ::munmap(rounds_, sizeof(counter)); }

    void add() noexcept { ++*rounds_; }
    std::int64_t rounds() const noexcept { return *rounds_; }

private:
    counter* rounds_;
};

/// Read once, before there are other processes: who is started again is there soon.
struct digits {
    explicit digits(const settings& s)
        : train(study::mnist(s.data, false).take(0, s.examples)),
          unseen(study::mnist(s.data, true)) {}

    sotto::data::labelled_set train, unseen;
};

/// One rank, in a process of its own; what it saw goes to a file.
void be_rank(const settings& s, const digits& data, const sotto::tcp_options& options,
             std::unique_ptr<sotto::tcp::meeting> meeting, const std::filesystem::path& told,
             progress& done_by_all) {
    using namespace sotto;
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
    const fit_report done =
        trainer.fit(data.train, epochs{s.passes}, [&](const step_report&) { done_by_all.add(); });
    nlohmann::json lost = nlohmann::json::array();
    for (const rank_loss& change : trainer.state().losses())
        lost.push_back({{"rank", change.rank}, {"why", change.cause}});
    nlohmann::json found{{"rank", transport.rank()}, {"steps", done.steps}, {"lost", lost}};
    if (transport.rank() == 0) {
        found["test_error"] = 100.0 * (1.0 - trainer.evaluate(data.unseen).accuracy);
        found["server_steps"] = trainer.state().server()->version();
    }
    std::ofstream(told) << found.dump() << "\n";
}

class job {
public:
    explicit job(const settings& s)
        : settings_(s), data_(s), ranks_(static_cast<std::size_t>(s.workers) + 1) {
        options_.size = s.workers + 1;
        options_.port = 0;
        options_.elastic = true;
        options_.join = std::chrono::seconds(15);  // who comes when all is over waits so long
        first_ = std::make_unique<sotto::tcp::meeting>(options_);
        options_.port = first_->port();
        for (int rank = 0; rank < options_.size; ++rank) start(rank);
        first_.reset();
    }

    void start(int rank) {
        const pid_t id = ::fork();
        if (id < 0) throw std::runtime_error("no process for a rank");
        if (id != 0) {
            of(rank) = {.id = id};
            return;
        }
        int status = 1;
        nlohmann::json found{{"rank", rank}};
        try {
            sotto::tcp_options own = options_;
            own.rank = rank;
            auto meeting = rank == 0 ? std::move(first_) : nullptr;
            first_.reset();
            be_rank(settings_, data_, own, std::move(meeting), told_by(rank), progress_);
            status = 0;
        } catch (const sotto::peer_failure& e) {
            found["blames"] = e.rank();
            found["error"] = e.what();
        } catch (const std::exception& e) {
            found["error"] = e.what();
        }
        if (status != 0) std::ofstream(told_by(rank)) << found.dump() << "\n";
        ::_exit(status);
    }

    /// Until all ranks have met.
    void wait_until_there() const {
        for (int rank = 0; rank < options_.size; ++rank)
            while (!std::filesystem::exists(told_by(rank).string() + ".there"))
                std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }

    /// Waits until the workers have done so many rounds together, and `fraction` of another one;
    /// false if that does not come.
    bool wait_for(std::int64_t rounds, double fraction) {
        const auto began = std::chrono::steady_clock::now();
        while (progress_.rounds() < rounds) {
            if (seconds_since(began) > seconds(at_most)) return false;
            std::this_thread::sleep_for(std::chrono::microseconds(100));
        }
        const double one = seconds_since(began) * settings_.workers /
                           static_cast<double>(std::max<std::int64_t>(progress_.rounds(), 1));
        std::this_thread::sleep_for(std::chrono::duration<double>(fraction * one));
        return true;
    }
    std::int64_t rounds() const noexcept { return progress_.rounds(); }

    /// Whether it was there to be killed.
    bool kill(int rank) {
        process& p = of(rank);
        if (::waitpid(p.id, &p.status, WNOHANG) != 0) {
            p.is_over = true;
            return false;
        }
        ::kill(p.id, SIGKILL);
        ::waitpid(p.id, &p.status, 0);
        p.is_over = true;
        return true;
    }

    /// Until all have ended; who takes too long hangs, and is killed.
    void wait() {
        const auto began = std::chrono::steady_clock::now();
        for (bool all = false; !all;) {
            all = true;
            for (process& p : ranks_) {
                if (p.is_over) continue;
                if (::waitpid(p.id, &p.status, WNOHANG) != 0) {
                    p.is_over = true;
                } else if (seconds_since(began) > seconds(at_most)) {
                    ::kill(p.id, SIGKILL);
                    ::waitpid(p.id, &p.status, 0);
                    p.is_over = p.hung = true;
                } else {
                    all = false;
                    continue;
                }
                p.ended = seconds_since(began);
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
    }

    /// How each rank's last process ended, and what it saw.
    nlohmann::json endings() const {
        nlohmann::json all = nlohmann::json::array();
        for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
            nlohmann::json one{{"rank", rank}};
            if (std::ifstream in(told_by(static_cast<int>(rank))); in)
                one = nlohmann::json::parse(in);
            one["hung"] = ranks_[rank].hung;
            one["status"] = ranks_[rank].status;
            one["ended"] = ranks_[rank].ended;
            all.push_back(std::move(one));
        }
        return all;
    }

private:
    struct process {
        pid_t id = 0;
        int status = 0;
        bool is_over = false;
        bool hung = false;
        double ended = 0.0;  // seconds after the kill
    };

    static double seconds(std::chrono::seconds s) { return static_cast<double>(s.count()); }
    process& of(int rank) noexcept { return ranks_[static_cast<std::size_t>(rank)]; }
    std::filesystem::path told_by(int rank) const {
        return std::filesystem::path(settings_.folder) / ("rank" + std::to_string(rank) + ".json");
    }

    settings settings_;
    digits data_;
    sotto::tcp_options options_;
    std::unique_ptr<sotto::tcp::meeting> first_;
    std::vector<process> ranks_;
    progress progress_;
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
    all.wait_until_there();
    // Before the workers have done all their rounds, so that it falls within the training.
    const std::int64_t total = s.workers * s.rounds();
    const auto after =
        static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(total - s.workers)));
    const double fraction = random.uniform();
    nlohmann::json killed = nlohmann::json::array();
    std::int64_t rounds = 0;
    const auto began = std::chrono::steady_clock::now();
    if (!victims.empty() && all.wait_for(after, fraction)) {
        rounds = all.rounds();
        for (const int rank : victims)
            if (all.kill(rank)) killed.push_back(rank);
        if (s.again)
            for (const auto& rank : killed) all.start(rank.get<int>());
    }
    all.wait();
    const nlohmann::json found{{"victims", s.victims},  {"again", s.again},
                               {"seed", s.seed},        {"rounds_of_all", total},
                               {"drawn", after},        {"fraction", fraction},
                               {"rounds", rounds},      {"killed", killed},
                               {"asked", victims},      {"seconds", seconds_since(began)},
                               {"ranks", all.endings()}};
    std::ofstream(s.out) << found.dump() << "\n";
    std::filesystem::remove_all(s.folder);
    return 0;
}
