// One run of the study of gossip and of local steps: trains on a simulated network whose ranks mix
// with neighbours, or meet now and then, and writes one JSON object: how good the mean of all ranks
// is in the end, rounds of mixing, distances between ranks and bytes. See gossip.py, which runs all
// of them.

#include <sotto/data/read_cifar10.hpp>
#include <sotto/data/read_text.hpp>
#include <sotto/models/character_lstm.hpp>
#include <sotto/models/residual_cnn.hpp>
#include <sotto/models.hpp>
#include <sotto/sotto.hpp>
#include <sotto/logging/consensus_maxima.hpp>
#include <sotto/logging/run_recorder.hpp>
#include <sotto/transports/run_simulated.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "study.hpp"

namespace {

struct settings {
    std::string data, out;
    std::string model = "mlp";
    std::string method = "adapt_then_combine";
    std::string topology = "ring";
    std::string control = "none";
    double value = 0.25;  // of the control: a fraction, or rho
    double from = 0.0;    // epochs between which it controls
    double to = 1e9;
    std::string elsewhere = "none";  // what does so in the others
    std::vector<double> maxima;      // of the three phases
    bool measures = false;
    int ranks = 16;
    double rate = 0.2;
    double momentum = 0.9;
    double warm_up = 1.0;  // epochs
    std::int64_t epochs = 12;
    std::int64_t examples = 12000;
    std::int64_t batch_size = 8;
    std::uint64_t seed = 1;
    double alpha = 0.0;  // of the split by label; 0: all data are everybody's
    double choco_step = 0.04;
    double density = 0.01;
    double outer_rate = 0.7, outer_momentum = 0.9;
    std::int64_t every = 30;  // steps between two meetings
    std::int64_t kept = 64;   // entries of 4,096 that sparse_loco sends
    std::int64_t hidden = 256;

    double phase() const { return static_cast<double>(epochs) / 3.0; }
};

/// Chosen when the program runs, so that it need not be compiled for each.
struct chosen_topology {
    std::string name;

    auto bind(int size) const {
        using namespace sotto::topologies;
        if (name == "complete") return complete{}.bind(size);
        if (name == "torus") return torus{}.bind(size);
        // D^2 needs eigenvalues above -1/3: here the least is 0.
        if (name == "lazy_ring")
            return sotto::topologies::repeated(lazy{ring{}, 0.75}.bind(size).matrix(0));
        return ring{}.bind(size);
    }
    void describe(auto&& field) const { field("name", name); }
};

/// How far ranks were apart in an epoch.
struct epoch_of_distances {
    double largest = 0.0, sum = 0.0, sum_of_critical = 0.0;
    std::int64_t measured = 0, critical = 0;

    void see(const sotto::detail::consensus_report& now) {
        if (std::isfinite(now.distance)) {
            largest = std::max(largest, now.distance);
            sum += now.distance;
            ++measured;
        }
        if (std::isfinite(now.critical)) {
            sum_of_critical += now.critical;
            ++critical;
        }
    }
    nlohmann::json shown() const {
        const auto mean = [](double all, std::int64_t n) {
            return n > 0 ? nlohmann::json(all / static_cast<double>(n)) : nlohmann::json();
        };
        return {{"largest", measured > 0 ? nlohmann::json(largest) : nlohmann::json()},
                {"mean", mean(sum, measured)},
                {"critical", mean(sum_of_critical, critical)}};
    }
};

/// What all ranks tell of a run; those of a simulated network run one at a time.
struct told {
    std::int64_t rounds = 0, steps = 0, bytes = 0;
    double own_errors = 0.0;  // their sum
    std::vector<epoch_of_distances> distances;
    std::vector<sotto::detail::recorded_maximum> maxima;
    sotto::evaluation learnt, unseen;

    void see(const sotto::step_report& step) {
        ++steps;
        rounds += std::max<std::int64_t>(step.round.consensus.rounds, 0);
        const auto epoch = static_cast<std::size_t>(step.epoch);
        if (epoch >= distances.size()) distances.resize(epoch + 1);
        distances[epoch].see(step.round.consensus);
    }
};

/// Of ranks that own their examples, or share those of all.
template <class Trainer, class Data, class... Callbacks>
void fit(const settings& s, Trainer& trainer, const sotto::detail::data::share& part,
         const Data& examples, Callbacks&&... callbacks) {
    if constexpr (std::is_same_v<Data, sotto::data::labelled_set>)
        if (s.alpha > 0.0) {
            const Data own = sotto::data::dirichlet_share(
                examples, part, s.alpha, sotto::random_stream(s.seed).split("split"));
            trainer.fit(sotto::local_data{own}, sotto::epochs{s.epochs}, callbacks...);
            return;
        }
    trainer.fit(examples, sotto::epochs{s.epochs}, callbacks...);
}

template <class Model, class Strategy, class Data>
nlohmann::json train(const settings& s, const Strategy& strategy, auto make_model,
                     const Data& examples, const Data& unseen) {
    told all;
    std::int64_t parameters = 0;
    const auto began = std::chrono::steady_clock::now();
    const auto train_rank = [&](sotto::simulated& transport) {
        Model model = make_model();
        sotto::trainer trainer{
            model, strategy, transport, {.batch_size = s.batch_size, .seed = s.seed}};
        const auto on_step = [&](const sotto::step_report& step) {
            if (transport.rank() == 0) all.see(step);
        };
        sotto::run_recorder recorder;
        const std::int64_t before = transport.counters().bytes_sent;
        fit(s, trainer, {transport.rank(), transport.size()}, examples, on_step, recorder);
        all.bytes += transport.counters().bytes_sent - before;
        const sotto::evaluation of_unseen = trainer.evaluate(unseen);
        const sotto::evaluation of_learnt = trainer.evaluate(examples);
        if constexpr (!Strategy::synchronous)
            all.own_errors += 100.0 * (1.0 - trainer.evaluate_local(unseen).accuracy);
        if (transport.rank() != 0) return;
        if (s.measures)
            all.maxima = sotto::consensus_maxima(recorder.log(),
                                                 std::vector{0.0, s.phase(), 2.0 * s.phase()});
        all.unseen = of_unseen;
        all.learnt = of_learnt;
        parameters = model.layout().size();
    };
    const auto run = sotto::run_simulated(s.ranks, study::network(s.seed), train_rank);
    const auto finite = [](double loss) { return std::isfinite(loss) ? loss : 1e9; };
    auto distances = nlohmann::json::array();
    for (const auto& epoch : all.distances) distances.push_back(epoch.shown());
    auto maxima = nlohmann::json::array();
    for (const auto& maximum : all.maxima) maxima.push_back(maximum.distance);
    return {
        {"train_loss", finite(all.learnt.loss)},
        {"train_error", 100.0 * (1.0 - all.learnt.accuracy)},
        {"test_loss", finite(all.unseen.loss)},
        {"test_error", 100.0 * (1.0 - all.unseen.accuracy)},
        {"own_test_error",
         Strategy::synchronous ? nlohmann::json() : nlohmann::json(all.own_errors / s.ranks)},
        {"steps", all.steps},
        {"rounds", all.rounds},
        {"bytes_sent", all.bytes},
        {"parameters", parameters},
        {"distances", distances},
        {"maxima", maxima},
        {"virtual_seconds", sotto::in_seconds(run.took)},
        {"trace_hash", run.trace_hash},
        {"took", std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count()}};
}

/// Three phases, each with a tenth of the rate of the one before.
template <class Optimizer>
auto in_phases(const settings& s, Optimizer by) {
    using namespace sotto;
    return scheduled{scheduled{by, rate_warm_up{.epochs = s.warm_up}},
                     step_decay{.every_epochs = s.phase()}};
}

auto with_momentum(const settings& s) {
    return in_phases(
        s, sotto::momentum_sgd{
               .learning_rate = s.rate, .momentum = s.momentum, .nesterov = s.momentum > 0.0});
}

/// Calls with the controller asked for, which has another one in its place but between two epochs.
nlohmann::json with_control(const settings& s, auto go) {
    using namespace sotto;
    const auto between = [&](auto control, auto elsewhere) {
        return control_phases{elsewhere, s.from, control_phases{control, s.to, elsewhere}};
    };
    const bool exact = s.elsewhere == "exact";
    if (s.control == "rho") return go(between(consensus_control{.rho = s.value}, no_control{}));
    if (s.control == "none")
        return exact ? go(between(no_control{}, exact_mean{})) : go(no_control{});
    std::vector<sotto::detail::recorded_maximum> maxima;
    for (const double distance : s.maxima)
        maxima.push_back({static_cast<double>(maxima.size()) * s.phase(), distance});
    const fraction_of_maximum control{.fraction = s.value, .maxima = maxima};
    return exact ? go(between(control, exact_mean{})) : go(between(control, no_control{}));
}

auto gossip_by(const settings& s, auto optimizer, auto control, auto compressor, auto mixing) {
    return sotto::gossip{optimizer, chosen_topology{s.topology},
                         control,   compressor,
                         mixing,    sotto::gossip_options{.measure_every = s.measures ? 1 : 0}};
}

nlohmann::json mlp(const settings& s) {
    using namespace sotto;
    const auto digits = study::mnist(s.data, false).take(0, s.examples);
    const auto unseen = study::mnist(s.data, true);
    const auto go = [&](auto optimizer, auto control, auto compressor, auto mixing) {
        return train<models::mlp<>>(
            s, gossip_by(s, optimizer, control, compressor, mixing),
            [] {
                return models::mlp{784, 64, 64, 10};
            },
            digits, unseen);
    };
    const auto plain = in_phases(s, sgd{.learning_rate = s.rate});
    if (s.method == "quasi_global")
        return go(plain, no_control{}, none{}, mixing::quasi_global_momentum{});
    if (s.method == "d_squared")
        return go(with_momentum(s), no_control{}, none{}, mixing::d_squared{});
    if (s.method == "tracking")
        return go(with_momentum(s), no_control{}, none{}, mixing::gradient_tracking{});
    if (s.method == "choco")
        return go(with_momentum(s), no_control{}, top_k{.density = s.density},
                  mixing::choco{.step = s.choco_step});
    return with_control(s, [&](auto control) {
        return go(with_momentum(s), control, none{}, mixing::adapt_then_combine{});
    });
}

nlohmann::json residual_cnn(const settings& s) {
    using namespace sotto;
    const auto folder = s.data + "/cifar10-sample/";
    const auto examples = data::read_cifar10({folder + "data_batch_1.bin"}).take(0, s.examples);
    const auto unseen = data::read_cifar10({folder + "test_batch.bin"});
    return with_control(s, [&](auto control) {
        return train<models::residual_cnn<>>(
            s, gossip_by(s, with_momentum(s), control, none{}, mixing::adapt_then_combine{}),
            [] { return models::residual_cnn{{.blocks = 1}}; }, examples, unseen);
    });
}

nlohmann::json character_lstm(const settings& s) {
    using namespace sotto;
    const auto text = data::read_text(s.data + "/tinyshakespeare/input.txt");
    const auto parts = data::split(text);
    const auto go = [&](auto strategy) {
        return train<models::character_lstm<>>(
            s, strategy,
            [&] {
                return models::character_lstm{text.vocabulary().size(),
                                              {.width = s.hidden, .hidden = s.hidden}};
            },
            parts.train, parts.validation);
    };
    const scheduled inner{scheduled{adamw{.learning_rate = s.rate, .weight_decay = 0.0},
                                    rate_warm_up{.epochs = s.warm_up}},
                          cosine{.epochs = static_cast<double>(s.epochs), .final_factor = 0.05}};
    if (s.method == "diloco")
        return go(local_updates{inner, diloco(s.outer_rate, s.outer_momentum), {.every = s.every}});
    if (s.method == "sparse_loco")
        return go(local_updates{inner, sparse_loco(s.kept, s.outer_rate), {.every = s.every}});
    return go(all_reduce{inner});
}

}  // namespace

int main(int argc, char** argv) {
    settings s;
    const std::map<std::string, std::set<std::string>> methods{
        {"mlp", {"adapt_then_combine", "quasi_global", "d_squared", "tracking", "choco"}},
        {"residual_cnn", {"adapt_then_combine"}},
        {"character_lstm", {"all_reduce", "diloco", "sparse_loco"}}};
    CLI::App app{"One run of the study of gossip and of local steps"};
    app.add_option("--data", s.data, "Folder with mnist/, cifar10-sample/ and tinyshakespeare/")
        ->required()
        ->envname("SOTTO_DATA");
    app.add_option("--out", s.out, "Where the result goes")->required();
    app.add_option("--model", s.model)->check(CLI::IsMember(methods));
    app.add_option("--method", s.method);
    app.add_option("--topology", s.topology)
        ->check(CLI::IsMember({"complete", "ring", "torus", "lazy_ring"}));
    app.add_option("--control", s.control)->check(CLI::IsMember({"none", "fraction", "rho"}));
    app.add_option("--value", s.value, "Of the control: a fraction of the maximum, or rho");
    app.add_option("--from", s.from, "Epoch from which it controls");
    app.add_option("--to", s.to, "Epoch from which it does no longer");
    app.add_option("--elsewhere", s.elsewhere, "In the other epochs: as it is, or exact means")
        ->check(CLI::IsMember({"none", "exact"}));
    app.add_option("--maxima", s.maxima, "Of the three phases, as a run with --measure told them")
        ->delimiter(',');
    app.add_flag("--measure", s.measures, "Measure in every step how far ranks are apart");
    app.add_option("--ranks", s.ranks)->check(CLI::PositiveNumber);
    app.add_option("--learning-rate", s.rate);
    app.add_option("--momentum", s.momentum);
    app.add_option("--warm-up", s.warm_up, "Epochs until the rate is whole");
    app.add_option("--epochs", s.epochs);
    app.add_option("--examples", s.examples, "To learn, of images");
    app.add_option("--batch-size", s.batch_size, "Of one rank");
    app.add_option("--seed", s.seed);
    app.add_option("--alpha", s.alpha, "Of the split by label; 0: all data are everybody's");
    app.add_option("--choco-step", s.choco_step);
    app.add_option("--density", s.density, "Of what choco sends");
    app.add_option("--outer-rate", s.outer_rate);
    app.add_option("--outer-momentum", s.outer_momentum, "Of diloco");
    app.add_option("--every", s.every, "Steps between two meetings");
    app.add_option("--kept", s.kept, "sparse_loco: entries of 4,096 that are sent");
    app.add_option("--hidden", s.hidden, "Width of the character LSTM");
    CLI11_PARSE(app, argc, argv);
    if (s.control == "rho" && s.elsewhere != "none") {
        std::fprintf(stderr, "--control rho goes with --elsewhere none alone\n");
        return 1;
    }
    if (!methods.at(s.model).contains(s.method)) {
        std::fprintf(stderr, "--method %s does not go with --model %s\n", s.method.c_str(),
                     s.model.c_str());
        return 1;
    }

    nlohmann::json found;
    try {
        found = s.model == "mlp"            ? mlp(s)
                : s.model == "residual_cnn" ? residual_cnn(s)
                                            : character_lstm(s);
    } catch (const sotto::error& e) {  // it diverged: as good as any guess
        if (e.code() != sotto::errc::non_finite) throw;
        found = {{"diverged", true}, {"train_loss", 1e9},      {"test_loss", 1e9},
                 {"test_error", 90}, {"own_test_error", 90.0}, {"train_error", 90}};
    }
    std::ofstream(s.out) << found.dump() << "\n";
    return 0;
}
