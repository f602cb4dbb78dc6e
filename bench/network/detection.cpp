// A rank is killed or stopped in a phase of a job, again and again: how soon the last of the others
// notices, and whether all of them are then as they must be. One line of JSON a trial:
//   bench_network_detection --ranks 4 --signal KILL --trials 100

#include <sotto/models/mlp.hpp>
#include <sotto/transports/tcp_tls.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <list>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "forked.hpp"
#include "participant.hpp"
#include "trial.hpp"

namespace {

constexpr double too_late = 30.0;

/// A trial under way.
class run {
public:
    run(const bench::trial& of, const bench::undisturbed& expected,
        const std::shared_ptr<const sotto::detail::tcp_security>& security)
        : of_(of), begun_(bench::monotonic_seconds()) {
        ranks_.reserve(static_cast<std::size_t>(of.ranks));
        for (int rank = 0; rank < of.ranks; ++rank)
            ranks_.emplace_back([&](int tells) {
                bench::participant(of_, rank, expected, tells).take_part(security);
            });
    }

    std::vector<bench::forked>& ranks() noexcept { return ranks_; }

    /// Whether the one that ends has done so; from then on the others only wait.
    bool has_struck() const { return !victim().lines().empty(); }

    bool is_over() const {
        if (bench::monotonic_seconds() - begun_ > too_late) return true;
        return std::all_of(ranks_.begin(), ranks_.end(), [&](const bench::forked& rank) {
            return &rank == &victim() || rank.closed();
        });
    }

    /// What came of it; ends all that still runs.
    nlohmann::json result() {
        const double died = has_struck() ? said(victim()).value("died", 0.0) : 0.0;
        ending last;
        std::vector<std::string> wrong;
        if (died == 0.0) wrong.emplace_back("the victim did not end there");
        for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
            if (&ranks_[rank] == &victim()) continue;
            for (const std::string& what : ending_of(ranks_[rank], last))
                wrong.push_back("rank " + std::to_string(rank) + ": " + what);
        }
        return {{"phase", of_.phase},
                {"number", of_.number},
                {"victim", of_.victim()},
                {"seconds", last.noticed - died},
                {"wrong", wrong}};
    }

private:
    const bench::forked& victim() const { return ranks_[static_cast<std::size_t>(of_.victim())]; }

    static nlohmann::json said(const bench::forked& by) {
        return by.lines().empty() ? nlohmann::json::object()
                                  : nlohmann::json::parse(by.lines().front());
    }

    /// Of those who were asked so far.
    struct ending {
        double noticed = 0.0;  // by the last
        std::optional<std::int64_t> rounds{};
    };

    /// What is wrong with a survivor; adds it to the others.
    static std::vector<std::string> ending_of(bench::forked& survivor, ending& all) {
        if (!survivor.closed()) return {"it noticed nothing within 30 s"};
        if (const int status = survivor.wait(); WIFSIGNALED(status))
            return {std::string("it was ended by a signal: ") + ::strsignal(WTERMSIG(status))};
        if (survivor.lines().empty()) return {"it ended without a word"};
        const nlohmann::json told = said(survivor);
        all.noticed = std::max(all.noticed, told.at("noticed").get<double>());
        auto wrong = told.at("wrong").get<std::vector<std::string>>();
        const auto rounds = told.at("rounds").get<std::int64_t>();
        if (rounds != all.rounds.value_or(rounds))
            wrong.push_back("it stands after " + std::to_string(rounds) + " rounds, others after " +
                            std::to_string(*all.rounds));
        all.rounds = rounds;
        return wrong;
    }

    bench::trial of_;
    double begun_;
    std::vector<bench::forked> ranks_;
};

/// Ranks start in one trial at a time, so that none is disturbed until its victim ends.
void run_all(const std::vector<bench::trial>& trials, std::size_t side_by_side,
             const bench::undisturbed& expected,
             const std::shared_ptr<const sotto::detail::tcp_security>& security) {
    std::list<run> in_flight;
    for (auto next = trials.begin(); next != trials.end() || !in_flight.empty();) {
        const bool all_struck = std::all_of(in_flight.begin(), in_flight.end(),
                                            [](const run& r) { return r.has_struck(); });
        if (next != trials.end() && all_struck && in_flight.size() < side_by_side)
            in_flight.emplace_back(*next++, expected, security);
        std::vector<bench::forked*> ranks;
        for (run& r : in_flight)
            for (bench::forked& rank : r.ranks()) ranks.push_back(&rank);
        bench::read_any(ranks, 1000);
        for (auto r = in_flight.begin(); r != in_flight.end();) {
            if (!r->is_over()) {
                ++r;
                continue;
            }
            std::puts(r->result().dump().c_str());
            std::fflush(stdout);
            r = in_flight.erase(r);
        }
    }
}

std::string new_secret() {
    std::random_device random;
    std::string text;
    while (text.size() < 64) text += "0123456789abcdef"[random() % 16];
    return text;
}

}  // namespace

int main(int count, char** arguments) try {
    int ranks = 2, trials = 3;
    std::size_t side_by_side = 8;
    std::string signal = "KILL";
    std::vector<std::string> phases(bench::phases.begin(), bench::phases.end());
    CLI::App app{"How soon the loss of a rank is noticed"};
    // A gradient's share of the mean is then exact, and so are the books about it.
    app.add_option("--ranks", ranks, "That live until one of them ends")
        ->check(CLI::IsMember({2, 4, 8, 16}));
    app.add_option("--signal", signal)->check(CLI::IsMember({"KILL", "STOP"}));
    app.add_option("--trials", trials, "Of each phase")->check(CLI::Range(1, 1000));
    app.add_option("--side-by-side", side_by_side, "Trials at a time where a rank is stopped")
        ->check(CLI::Range(1, 64));
    app.add_option("--phases", phases)->check(CLI::IsMember(phases));
    CLI11_PARSE(app, count, arguments);

    const auto base =
        std::filesystem::temp_directory_path() / ("sotto_detection_" + std::to_string(::getpid()));
    std::vector<bench::trial> all;
    for (int number = 0; number < trials; ++number)
        for (const std::string& phase : phases) {
            // Below the ports that the system gives to those who connect.
            const auto port = static_cast<std::uint16_t>(20000 + all.size() % 12000);
            all.push_back({phase, number, ranks, signal == "KILL" ? SIGKILL : SIGSTOP, port,
                           base / std::to_string(all.size())});
        }
    const bench::undisturbed expected(ranks);
    run_all(all, signal == "KILL" ? 1 : side_by_side, expected,
            sotto::pre_shared_key::from_text(new_secret(), "this program"));
    std::filesystem::remove_all(base);
} catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
