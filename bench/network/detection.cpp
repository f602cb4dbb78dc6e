// Ranks train until one of them is killed or stopped in a phase of a round; the others tell when
// they noticed, whom they name, and what they are left with. One line of JSON a rank:
//   SOTTO_RANK=.. SOTTO_SIZE=.. SOTTO_ADDRESS=.. bench_network_detection --victim R --phase P
// See network.py, which runs it again and again.

#include <sotto/models/mlp.hpp>
#include <sotto/sotto.hpp>

#include <CLI/CLI.hpp>
#include <xxhash.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>

#include "join.hpp"
#include "mortal.hpp"

namespace {

struct settings {
    int victim = 0;
    std::string phase = "compute";
    int signal = SIGKILL;
    std::int64_t round = 5;
    std::filesystem::path folder;
};

// What the library calls a phase; "idle" and "rendezvous" are not phases of a round.
const std::map<std::string, std::string> phases{{"rendezvous", ""},
                                                {"idle", ""},
                                                {"compute", "compute"},
                                                {"send", "send"},
                                                {"reduce", "exchange"},
                                                {"apply", "commit"},
                                                {"checkpoint", "saving a checkpoint"}};

/// `round` was seen to complete; `digest` is of the parameters after it.
nlohmann::json told(const sotto::peer_failure& e, int rank, std::int64_t round,
                    std::uint64_t digest) {
    return {{"noticed", bench::monotonic_seconds()},
            {"rank", rank},
            {"named", e.rank()},
            {"what", e.what()},
            {"round", round},
            {"digest", digest}};
}

nlohmann::json train(const settings& s, sotto::tcp& endpoint, const bench::death& how) {
    bench::mortal through(endpoint, how);
    const auto digits = sotto::data::digits(2000, sotto::random_stream{1});
    sotto::models::mlp model{784, 512, 10};
    sotto::trainer trainer{model, sotto::all_reduce{sotto::momentum_sgd{.learning_rate = 0.05}},
                           through};
    const auto idle = [&](const sotto::step_report& step) {
        if (s.phase == "idle" && through.rank() == s.victim && step.step >= s.round)
            bench::death{.signal = s.signal}.come();
    };
    try {
        const auto forever = sotto::epochs{1'000'000};
        if (s.phase == "checkpoint")
            trainer.fit(digits, forever, idle,
                        sotto::checkpoints(s.folder, {.every_steps = s.round}));
        else
            trainer.fit(digits, forever, idle);
    } catch (const sotto::peer_failure& e) {
        const auto values = trainer.parameters();
        nlohmann::json found = told(e, through.rank(), trainer.step(), 0);
        found["digest"] = XXH3_64bits(values.data(), values.size_bytes());
        return found;
    }
    throw std::logic_error("training ended");
}

}  // namespace

int main(int count, char** arguments) try {
    settings s;
    std::string signal = "KILL";
    CLI::App app{"How soon the loss of a rank is noticed"};
    app.add_option("--victim", s.victim);
    app.add_option("--phase", s.phase)->check(CLI::IsMember(phases));
    app.add_option("--signal", signal)->check(CLI::IsMember({"KILL", "STOP"}));
    app.add_option("--round", s.round, "In which it happens, counted from 0");
    app.add_option("--folder", s.folder, "Of checkpoints, for that phase");
    CLI11_PARSE(app, count, arguments);
    s.signal = signal == "KILL" ? SIGKILL : SIGSTOP;

    auto options = bench::tcp_options();
    const bool dies = options.rank == s.victim;
    bench::death how{.round = s.round, .signal = s.signal};
    if (dies) how.phase = phases.at(s.phase);
    // Long after its hello: the last rank never comes, and all others wait for it.
    std::thread end_of_rendezvous;
    if (dies && s.phase == "rendezvous")
        end_of_rendezvous = std::thread([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(300));
            how.come();
        });
    std::optional<nlohmann::json> found;
    try {
        sotto::tcp through = sotto::tcp::join(options);
        found = train(s, through, how);
    } catch (const sotto::peer_failure& e) {
        found = told(e, options.rank, -1, 0);
    }
    std::puts(found->dump().c_str());
    if (end_of_rendezvous.joinable()) end_of_rendezvous.join();
} catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
