// Trains by gossip: each rank takes steps on its own data and mixes its parameters with those of
// its neighbours on a graph. There is no server, and no rank waits for all others. A controller
// decides how often ranks mix, and keeps ranks closer together than a step is long. The report
// draws the graph and the distances between ranks.

#include <sotto/models.hpp>
#include <sotto/sotto.hpp>
#include <sotto/logging/consensus_maxima.hpp>
#include <sotto/logging/merge_rank_logs.hpp>
#include <sotto/logging/json_lines.hpp>
#include <sotto/report/report.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "transport.hpp"

namespace {

struct settings {
    std::string topology = "ring", control = "consensus", method = "adapt-then-combine";
    std::string log = "gossip_without_a_server.jsonl", report = "gossip_without_a_server.html";
    std::string maxima;
    std::vector<double> phases{0.0};
    double rate = 0.1, momentum = 0.9, rho = 0.25, density = 0.01, dirichlet = 0.0, lazy = 0.0;
    double low = 0.5, high = 2.0, fraction = 0.25, until = 1.0;
    int rounds = 2;
    std::int64_t passes = 5, every = 48, measure_every = 10;
    bool scaled_by_gap = false, directed = false, survives = false, quick = false;
    sotto::training_options training{.batch_size = 16};
    examples::transport_options transport{.workers = 8};
};

/// A topology selected at run time: one type for all of them.
class chosen_topology {
public:
    class state {
    public:
        template <class State>
        explicit state(std::shared_ptr<State> of)
            : matrix_([of](std::int64_t round) -> const auto& { return of->matrix(round); }),
              period_(of->period()),
              mean_contraction_(contraction_of(*of)) {}

        const sotto::topologies::mixing_matrix& matrix(std::int64_t round) {
            return matrix_(round);
        }
        std::int64_t period() const noexcept { return period_; }
        double mean_contraction() const noexcept { return mean_contraction_; }

    private:
        template <class State>
        static double contraction_of(const State& of) {
            if constexpr (requires { of.mean_contraction(); })
                return of.mean_contraction();
            else
                return std::numeric_limits<double>::quiet_NaN();
        }

        std::function<const sotto::topologies::mixing_matrix&(std::int64_t)> matrix_;
        std::int64_t period_;
        double mean_contraction_;
    };

    template <sotto::topology Topology>
    chosen_topology(std::string name, Topology of)
        : name_(std::move(name)), bind_([of](int size) {
              return state(std::make_shared<sotto::topology_state<Topology>>(of.bind(size)));
          }) {}

    state bind(int size) const { return bind_(size); }
    const std::string& name() const noexcept { return name_; }
    void describe(auto&& field) const { field("is", name_); }

private:
    std::string name_;
    std::function<state(int)> bind_;
};

chosen_topology topology_by_name(const std::string& name, bool directed) {
    using namespace sotto::topologies;
    static const std::map<std::string, chosen_topology> all{
        {"ring", {"ring", ring{}}},
        {"torus", {"torus", torus{}}},
        {"hypercube", {"hypercube", hypercube{}}},
        {"exponential", {"exponential", exponential{}}},
        {"one-peer-exponential", {"one-peer-exponential", one_peer_exponential{}}},
        {"complete", {"complete", complete{}}},
        {"star", {"star", star{}}},
        {"tree", {"tree", tree{}}},
        {"random-regular", {"random-regular", random_regular{}}},
        {"random-matching", {"random-matching", random_matching{}}},
    };
    if (const auto found = all.find(name); found != all.end()) return found->second;
    if (!std::filesystem::exists(name)) {
        std::string names;
        for (const auto& [one, topology] : all) names += one + ", ";
        throw sotto::invalid_option("--topology " + name + ": " + names +
                                    "or a file of links are possible");
    }
    return {name, read_edge_list(name, directed)};
}

chosen_topology topology_of(const settings& s) {
    const chosen_topology whole = topology_by_name(s.topology, s.directed);
    if (s.lazy == 0.0) return whole;
    return {s.topology + ", lazy " + std::to_string(s.lazy),
            sotto::topologies::lazy{whole, s.lazy}};
}

/// How distances between ranks can be measured.
enum class measured { estimated, either_way, exactly };

/// A controller selected at run time that works with distances measured this way.
template <measured By>
class chosen_control {
public:
    static constexpr bool measures_exactly = By != measured::estimated;
    static constexpr bool estimates = By != measured::exactly;

    struct state {
        std::function<sotto::consensus_reading::measure(const sotto::round_info&)> needs;
        std::function<bool(const sotto::round_info&, double)> wants_one;
        std::function<bool(const sotto::consensus_reading&)> wants_another;
        std::function<double(const sotto::consensus_reading&)> target;
    };

    template <sotto::consensus_controller Control>
    chosen_control(std::string name, const Control& of)
        : name_(std::move(name)), needs_gap_(asks_for_gap(of)), bind_([of] {
              const auto by = std::make_shared<sotto::controller_state<Control>>(of.bind());
              return state{[by](const auto& where) { return by->needs(where); },
                           [by](const auto& where, double rate) {
                               if constexpr (requires { by->wants_one(where, rate); })
                                   return by->wants_one(where, rate);
                               else
                                   return true;
                           },
                           [by](const auto& now) { return by->wants_another(now); },
                           [by](const auto& now) {
                               if constexpr (requires { by->target(now); })
                                   return by->target(now);
                               else
                                   return std::numeric_limits<double>::quiet_NaN();
                           }};
          }) {}

    state bind() const { return bind_(); }
    bool needs_gap() const noexcept { return needs_gap_; }
    void describe(auto&& field) const { field("is", name_); }

private:
    static bool asks_for_gap(const auto& of) {
        if constexpr (requires { of.needs_gap(); })
            return of.needs_gap();
        else
            return false;
    }

    std::string name_;
    bool needs_gap_;
    std::function<state()> bind_;
};

template <measured By>
chosen_control<By> control_of(const settings& s) {
    using namespace sotto;
    const auto with = [&](double value) { return s.control + " " + std::to_string(value); };
    if constexpr (By != measured::exactly) {
        const consensus_control near{.rho = s.rho, .scaled_by_gap = s.scaled_by_gap};
        if (s.control == "consensus") return {with(s.rho), near};
        if (s.control == "band")
            return {with(s.low) + " to " + std::to_string(s.high),
                    consensus_band{.low = s.low, .high = s.high}};
        if (s.control == "phases")
            return {with(s.rho) + " until " + std::to_string(s.until),
                    control_phases{near, s.until, no_control{}}};
    }
    if constexpr (By != measured::estimated) {
        if (s.control == "exact") return {with(s.rho), exact_consensus_control{.rho = s.rho}};
        if (s.control == "fraction")
            return {with(s.fraction),
                    fraction_of_maximum{.fraction = s.fraction,
                                        .maxima = consensus_maxima(s.maxima, s.phases)}};
    }
    if (s.control == "rounds") return {with(s.rounds), fixed_rounds{.rounds = s.rounds}};
    return {"none", no_control{}};
}

/// True if the method requires plain SGD as the optimizer.
bool has_momentum_of_its_own(const std::string& method) {
    return method == "choco" || method == "d-squared" || method == "gradient-tracking" ||
           method == "quasi-global" || method == "pairs";
}

/// Prints the method, the topology, the controller and the optimizer.
void say_what_runs(const settings& s) {
    std::printf("%s on %s, control %s; each rank's steps: ", s.method.c_str(), s.topology.c_str(),
                s.control.c_str());
    if (has_momentum_of_its_own(s.method))
        std::printf("plain SGD of rate %.6g, as this method takes no other\n", s.rate);
    else
        std::printf("SGD of rate %.6g, momentum %.6g\n", s.rate, s.momentum);
}

/// Prints the bytes sent by the ranks whose logs are on this machine.
void say_what_was_sent(const settings& s, const sotto::run_log& run) {
    const auto mib = [](double bytes) { return bytes / (1024.0 * 1024.0); };
    const auto sent = run.sent();
    if (sent.known < 2)
        std::printf("rank %d sent %.2f MiB", run.about.rank, mib(run.total.bytes_sent));
    else if (sent.alike())
        std::printf("each of %zu ranks sent %.2f MiB", sent.known, mib(sent.mean));
    else
        std::printf("%zu ranks sent %.2f MiB each on average, rank %d the most, %.2f MiB",
                    sent.known, mib(sent.mean), sent.rank, mib(sent.most));
    std::printf(" in %lld steps\n", static_cast<long long>(run.steps));
    double study = 0.0;
    for (const auto& r : run.ranks)
        study += r.total.study_bytes / static_cast<double>(run.ranks.size());
    if (study > 0.0)
        std::printf("  of that %.2f MiB to measure distances exactly, %s\n", mib(study),
                    s.control == "exact" || s.control == "fraction"
                        ? "as this --control does in every round"
                        : "which --measure-every 0 does without");
}

template <class Strategy>
void train(const settings& s, const Strategy& strategy) {
    using namespace sotto;
    const auto digits = data::digits(s.quick ? 2'000 : 10'000, random_stream{1});
    const auto unseen = data::digits(2'000, random_stream{2});
    examples::with_transport(s.transport, [&](auto& transport) {
        if (transport.rank() == 0) say_what_runs(s);
        models::mlp model{784, 128, 10};
        trainer trainer{model, strategy, transport, s.training};
        const auto fit = [&](const auto& examples) {
            return examples::noted(trainer.fit(examples, epochs{s.passes}, progress_bar{},
                                               json_lines{s.log, {.every_rank = true}}));
        };
        const fit_report report =
            s.dirichlet > 0.0
                ? fit(local_data{data::dirichlet_share(digits, {transport.rank(), transport.size()},
                                                       s.dirichlet, random_stream{3})})
                : fit(digits);
        const evaluation own = trainer.evaluate_local(unseen);
        std::optional<evaluation> mean;
        if constexpr (!Strategy::survives) mean = trainer.evaluate_mean(unseen);
        if (!s.survives) transport.agree(true);  // waits until all logs are written
        if (transport.rank() != 0) return;
        if (mean)
            std::printf("accuracy of the mean of all ranks %.2f %%, of rank 0 alone %.2f %%\n",
                        100.0 * mean->accuracy, 100.0 * own.accuracy);
        else
            std::printf(
                "accuracy of rank 0 alone %.2f %%: where ranks may go nobody takes the "
                "mean of all\n",
                100.0 * own.accuracy);
        if (s.method == "slow-momentum" && report.steps < s.every)
            std::printf(
                "no mean of all was taken, and no slow step: --every %lld is more than the "
                "%lld steps\n",
                static_cast<long long>(s.every), static_cast<long long>(report.steps));
        const run_log run = read_json_lines_of_ranks(s.log);
        say_what_was_sent(s, run);
        sotto::write_report(run, s.report, {.title = "Gossip on a graph"});
        std::printf("Who mixes with whom, and how far ranks were apart: %s\n",
                    std::filesystem::absolute(s.report).c_str());
    });
}

/// Refuses flags that contradict each other or have no effect.
void require_sensible(const CLI::App& app, const settings& s) {
    using examples::refuse;
    const auto only = [&](const char* flag, bool has_effect, const char* with) {
        examples::require_effect(app, flag, has_effect, with);
    };
    const auto is = [](const std::string& value, std::initializer_list<const char*> some) {
        return std::ranges::find(some, value) != some.end();
    };
    const bool exact = is(s.control, {"exact", "fraction"});
    only("--survives", s.method == "adapt-then-combine", "--method adapt-then-combine");
    if (s.survives && exact)
        refuse("--control", s.control,
               "it asks all ranks, and with --survives some may be missing: none, rounds, "
               "consensus, band or phases was expected");
    if (s.method == "pairs" && s.control != "none")
        refuse("--control", s.control, "--method pairs has no rounds to count: none was expected");
    if (s.method == "choco" && !exact && !is(s.control, {"none", "rounds"}))
        refuse("--control", s.control,
               "--method choco has copies of the others, and no estimate of how far ranks are "
               "apart: none, rounds, exact or fraction was expected");
    if (s.control == "fraction" && s.maxima.empty())
        refuse("--maxima", s.maxima,
               "--control fraction needs the log of a run by --control none --measure-every 1");
    only("--rho", is(s.control, {"consensus", "exact", "phases"}),
         "--control consensus, exact and phases");
    only("--scaled-by-gap", is(s.control, {"consensus", "phases"}),
         "--control consensus and phases");
    only("--momentum", !has_momentum_of_its_own(s.method),
         "the methods that take it: adapt-then-combine, combine-then-adapt, push-sum and "
         "slow-momentum");
    if (s.lazy == 1.0)
        refuse("--lazy", "1",
               "links then do all that they do, as by 0: a number below 1 was expected");
    only("--rounds", s.control == "rounds", "--control rounds");
    for (const char* flag : {"--low", "--high"}) only(flag, s.control == "band", "--control band");
    only("--until", s.control == "phases", "--control phases");
    for (const char* flag : {"--fraction", "--maxima", "--phases"})
        only(flag, s.control == "fraction", "--control fraction");
    only("--density", s.method == "choco", "--method choco");
    only("--every", s.method == "slow-momentum", "--method slow-momentum");
    only("--lazy", s.method != "pairs", "every --method but pairs, whose links have no weights");
    only("--measure-every", s.method != "pairs" && !s.survives,
         "ranks that have steps in common: every --method but pairs, without --survives");
    only("--directed", s.method == "push-sum" && std::filesystem::exists(s.topology),
         "--method push-sum and a file of links as --topology");
    examples::require_readable("--maxima", s.maxima);
    examples::require_writable({{"--log", s.log}, {"--report", s.report, true}});
}

/// Trains with the selected method. Each one is a separate instantiation.
void with_method(const settings& s) {
    using namespace sotto;
    const chosen_topology topology = topology_of(s);
    const sgd plain{.learning_rate = s.rate};
    const momentum_sgd heavy{.learning_rate = s.rate, .momentum = s.momentum};
    if (s.survives)
        return train(s, gossip{heavy, topology, control_of<measured::estimated>(s), none{},
                               mixing::adapt_then_combine{}, surviving{}});
    const gossip_options measuring{.measure_every = s.measure_every};
    const auto by = [&](const auto& optimizer, const auto& method) {
        train(s, gossip{optimizer, topology, control_of<measured::either_way>(s), none{}, method,
                        measuring});
    };
    if (s.method == "adapt-then-combine") return by(heavy, mixing::adapt_then_combine{});
    if (s.method == "combine-then-adapt") return by(heavy, mixing::combine_then_adapt{});
    if (s.method == "choco")
        return train(s, gossip{plain, topology, control_of<measured::exactly>(s),
                               top_k{.density = s.density}, mixing::choco{}, measuring});
    if (s.method == "push-sum") return by(heavy, mixing::push_sum{});
    if (s.method == "d-squared") return by(plain, mixing::d_squared{});
    if (s.method == "gradient-tracking") return by(plain, mixing::gradient_tracking{});
    if (s.method == "quasi-global") return by(plain, mixing::quasi_global_momentum{});
    if (s.method == "slow-momentum")
        return by(heavy, mixing::slow_momentum{mixing::adapt_then_combine{}, s.every});
    train(s, gossip{plain, topology, no_control{}, none{}, mixing::asynchronous_pairs{}});
}

}  // namespace

int main(int argc, char** argv) {
    settings s;
    CLI::App app{"Trains by gossip, without a server", "gossip_without_a_server"};
    app.option_defaults()->always_capture_default();
    app.add_option(
        "--topology", s.topology,
        "ring, torus, hypercube, exponential, one-peer-exponential, complete, star, tree, "
        "random-regular, random-matching, or a file with a link a line: two ranks and perhaps its "
        "weight, blanks or commas between; what follows a # is not read");
    app.add_flag("--directed", s.directed,
                 "Links of a file go one way, from its first rank to its second: by push-sum");
    CLI::Option* const lazy =
        app.add_option("--lazy", s.lazy,
                       "Links count for this share of what they else do; 0: for all. 0.5 by "
                       "d-squared, which needs it on most graphs")
            ->check(examples::number_from(0.0, 1.0));
    CLI::Option* const control =
        app.add_option("--control", s.control,
                       "How often ranks mix: none, a round a step; rounds; consensus; exact, the "
                       "same by exact distances; band; fraction, of what an earlier run had; "
                       "phases, consensus and then none")
            ->check(CLI::IsMember(
                {"none", "rounds", "consensus", "exact", "band", "fraction", "phases"}));
    app.add_option("--rho", s.rho,
                   "consensus, exact, phases: distance, in learning rates x gradient norms; by "
                   "consensus and phases the estimate of it, several times less on a slow graph")
        ->check(examples::number_above(0.0, 1e6));
    app.add_flag("--scaled-by-gap", s.scaled_by_gap,
                 "consensus, phases: --rho is of the distance itself, by the graph's spectral gap");
    app.add_option("--rounds", s.rounds, "rounds: of mixing after each step")
        ->check(examples::number_from(1, 1000));
    app.add_option("--low", s.low, "band: the distance below which a step is without mixing")
        ->check(examples::number_from(0.0, 1e6));
    app.add_option("--high", s.high, "band: the distance above which it has more of it")
        ->check(examples::number_above(0.0, 1e6));
    app.add_option("--until", s.until, "phases: the epoch from which on there is no control")
        ->check(examples::number_from(0.0, 1e6));
    app.add_option("--fraction", s.fraction, "fraction: of an earlier run's distance")
        ->check(examples::number_above(0.0, 1.0));
    app.add_option("--maxima", s.maxima,
                   "fraction: that run's log, of one rank, by --measure-every 1 --control none");
    app.add_option("--phases", s.phases, "fraction: the epochs where its phases begin")
        ->delimiter(',');
    app.add_option("--measure-every", s.measure_every,
                   "Steps from one exact measurement of distances to the next; 0: none");
    app.add_option("--method", s.method,
                   "What is mixed, and how. choco, d-squared, gradient-tracking, quasi-global and "
                   "pairs take steps of plain SGD, the others of momentum SGD: compare them by "
                   "--momentum 0")
        ->check(CLI::IsMember({"adapt-then-combine", "combine-then-adapt", "choco", "push-sum",
                               "d-squared", "gradient-tracking", "quasi-global", "slow-momentum",
                               "pairs"}));
    app.add_option("--density", s.density, "choco: the share of a change that is sent")
        ->check(examples::number_above(0.0, 1.0));
    CLI::Option* const every =
        app.add_option("--every", s.every, "slow-momentum: steps from one mean of all to the next")
            ->check(examples::at_least_one);
    app.add_option("--dirichlet", s.dirichlet,
                   "Ranks have digits of their own, the more unlike the smaller this is; 0: alike")
        ->check(examples::number_from(0.0, 1e6));
    app.add_flag("--survives", s.survives,
                 "Ranks may die and come again, where the transport can; by adapt-then-combine");
    app.add_option("--learning-rate", s.rate, "Of each rank's steps")
        ->check(examples::number_above(0.0, 1e6));
    app.add_option("--momentum", s.momentum, "Of each rank's steps, where the method takes any")
        ->check(examples::number_from(0.0, 0.9999));
    app.add_option("--batch-size", s.training.batch_size, "Of one rank")
        ->check(examples::number_from(1, 1e6));
    app.add_option("--seed", s.training.seed, "Of starting values and the order of data")
        ->check(examples::whole_number);
    app.add_option("--epochs", s.passes, "Passes over the data")->check(examples::at_least_one);
    app.add_option("--log", s.log, "JSON lines, a file for each rank");
    app.add_option("--report", s.report, "The HTML file to write");
    app.add_flag("--quick", s.quick, "A few seconds: fewer digits, at most 2 epochs");
    examples::add_transport(app, s.transport);
    return examples::run(app, argc, argv, [&] {
        if (s.quick) s.passes = std::min<std::int64_t>(s.passes, 2);
        if (control->count() == 0 && s.method != "adapt-then-combine") s.control = "none";
        if (lazy->count() == 0 && s.method == "d-squared") s.lazy = 0.5;
        if (s.quick && every->count() == 0) s.every = 10;
        require_sensible(app, s);
        s.transport.seed = s.training.seed;
        s.transport.elastic = s.survives;
        with_method(s);
        return 0;
    });
}
