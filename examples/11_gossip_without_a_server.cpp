// No server, and nobody who waits for all: each rank takes steps on its own data and mixes its
// parameters with those of its neighbours on a graph. How often they mix decides a controller,
// which keeps ranks closer than a step is long. The report draws the graph and how far ranks were
// apart.

#include <sotto/sotto.hpp>
#include <sotto/trainer/joined_ranks.hpp>
#include <sotto/trainer/json_lines.hpp>
#include <sotto/trainer/report.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "transport.hpp"

namespace {

struct settings {
    std::string topology = "ring", control = "consensus", method = "adapt-then-combine";
    std::string log = "gossip_without_a_server.jsonl", report = "gossip_without_a_server.html";
    double rate = 0.1, rho = 0.25, density = 0.01, dirichlet = 0.0;
    int rounds = 2;
    std::int64_t passes = 5;
    bool survives = false, quick = false;
    sotto::training_options training{.batch_size = 16};
    examples::transport_options transport{.workers = 8};
};

/// A topology that is chosen while the program runs: all there are, as one type.
class chosen_topology {
public:
    class state {
    public:
        template <class State>
        explicit state(std::shared_ptr<State> of)
            : matrix_([of](std::int64_t round) -> const auto& { return of->matrix(round); }),
              period_(of->period()) {}

        const sotto::topologies::mixing_matrix& matrix(std::int64_t round) {
            return matrix_(round);
        }
        std::int64_t period() const noexcept { return period_; }

    private:
        std::function<const sotto::topologies::mixing_matrix&(std::int64_t)> matrix_;
        std::int64_t period_;
    };

    template <sotto::topology Topology>
    chosen_topology(std::string name, Topology of)
        : name_(std::move(name)), bind_([of](int size) {
              return state(std::make_shared<sotto::topology_state<Topology>>(of.bind(size)));
          }) {}

    state bind(int size) const { return bind_(size); }
    void describe(auto&& field) const { field("is", name_); }

private:
    std::string name_;
    std::function<state(int)> bind_;
};

chosen_topology topology_of(const std::string& name) {
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
    return {name, read_edge_list(name)};
}

void train(const settings& s, const auto& strategy) {
    using namespace sotto;
    const auto digits = data::digits(s.quick ? 2'000 : 10'000, random_stream{1});
    const auto unseen = data::digits(2'000, random_stream{2});
    examples::with_transport(s.transport, [&](auto& transport) {
        models::mlp model{784, 128, 10};
        trainer trainer{model, strategy, transport, s.training};
        const auto fit = [&](const auto& examples) {
            return trainer.fit(examples, epochs{s.passes}, progress_bar{},
                               json_lines{s.log, {.every_rank = true}});
        };
        const fit_report report =
            s.dirichlet > 0.0
                ? fit(own_share{data::dirichlet_share(digits, {transport.rank(), transport.size()},
                                                      s.dirichlet, random_stream{3})})
                : fit(digits);
        const evaluation own = trainer.evaluate_own(unseen);
        const evaluation mean = trainer.evaluate(unseen);
        if (!s.survives) transport.agree(true);  // all ranks have written their logs
        if (transport.rank() != 0) return;
        std::printf("accuracy of the mean of all ranks %.2f %%, of rank 0 alone %.2f %%\n",
                    100.0 * mean.accuracy, 100.0 * own.accuracy);
        std::printf("each rank sent %.2f MB in %lld steps\n",
                    static_cast<double>(report.total.bytes_sent) / 1e6,
                    static_cast<long long>(report.steps));
        write_report(read_json_lines_of_ranks(s.log), s.report, {.title = "Gossip on a graph"});
        std::printf("Who mixes with whom, and how far ranks were apart: %s\n",
                    std::filesystem::absolute(s.report).c_str());
        std::puts("Nothing of the model was saved: gossip has no checkpoints yet");
    });
}

/// Each method is a program of its own. What is told of a run is measured exactly every ten steps.
void with_method(const settings& s) {
    using namespace sotto;
    const chosen_topology topology = topology_of(s.topology);
    const sgd plain{.learning_rate = s.rate};
    const momentum_sgd heavy{.learning_rate = s.rate, .momentum = 0.9};
    const gossip_options studied{.measure_every = 10};
    if (s.method == "adapt-then-combine") {
        const mixing::adapt_then_combine mixed{};
        if (s.survives)
            return train(s, gossip{heavy, topology, consensus_control{.rho = s.rho}, none{}, mixed,
                                   surviving{}});
        if (s.control == "consensus")
            return train(s, gossip{heavy, topology, consensus_control{.rho = s.rho}, none{}, mixed,
                                   studied});
        const int rounds = s.control == "rounds" ? s.rounds : 1;
        return train(
            s, gossip{heavy, topology, fixed_rounds{.rounds = rounds}, none{}, mixed, studied});
    }
    const auto uncontrolled = [&](const auto& optimizer, const auto& compressor,
                                  const auto& method) {
        train(s, gossip{optimizer, topology, no_control{}, compressor, method, studied});
    };
    if (s.method == "combine-then-adapt")
        return uncontrolled(heavy, none{}, mixing::combine_then_adapt{});
    if (s.method == "choco")
        return uncontrolled(plain, top_k{.density = s.density}, mixing::choco{});
    if (s.method == "d-squared") return uncontrolled(plain, none{}, mixing::d_squared{});
    if (s.method == "gradient-tracking")
        return uncontrolled(plain, none{}, mixing::gradient_tracking{});
    if (s.method == "quasi-global")
        return uncontrolled(plain, none{}, mixing::quasi_global_momentum{});
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
        "random-regular, random-matching, or a file with a link a line");
    CLI::Option* const control =
        app.add_option("--control", s.control, "How often ranks mix, by adapt-then-combine")
            ->check(CLI::IsMember({"none", "rounds", "consensus"}));
    app.add_option("--rho", s.rho, "consensus: distance, in learning rates x gradient norms");
    app.add_option("--rounds", s.rounds, "rounds: of mixing after each step")
        ->check(CLI::Range(1, 1000));
    app.add_option("--method", s.method, "What is mixed, and how")
        ->check(CLI::IsMember({"adapt-then-combine", "combine-then-adapt", "choco", "d-squared",
                               "gradient-tracking", "quasi-global", "pairs"}));
    app.add_option("--density", s.density, "choco: the share of a change that is sent");
    app.add_option("--dirichlet", s.dirichlet,
                   "Ranks have digits of their own, the more unlike the smaller this is; 0: alike");
    app.add_flag("--survives", s.survives,
                 "Ranks may die and come again, where the transport can; by adapt-then-combine");
    app.add_option("--learning-rate", s.rate, "Of each rank's steps");
    app.add_option("--batch-size", s.training.batch_size, "Of one rank");
    app.add_option("--seed", s.training.seed, "Of starting values and the order of data");
    app.add_option("--epochs", s.passes, "Passes over the data")->check(examples::at_least_one);
    app.add_option("--log", s.log, "JSON lines, a file for each rank");
    app.add_option("--report", s.report, "The HTML file to write");
    app.add_flag("--quick", s.quick, "A few seconds: fewer digits, at most 2 epochs");
    examples::add_transport(app, s.transport);
    return examples::run(app, argc, argv, [&] {
        if (s.quick) s.passes = std::min<std::int64_t>(s.passes, 2);
        if (s.method != "adapt-then-combine" && (control->count() > 0 || s.survives))
            throw sotto::invalid_option(
                "--control and --survives go with --method adapt-then-combine in this example");
        if (s.survives && s.control != "consensus")
            throw sotto::invalid_option("--survives goes with --control consensus in this example");
        s.transport.seed = s.training.seed;
        s.transport.elastic = s.survives;
        with_method(s);
        return 0;
    });
}
