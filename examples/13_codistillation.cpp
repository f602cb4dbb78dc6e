// Trains groups that learn from each other's models (codistillation). A group uses the other
// groups' models as they were some steps ago, so groups communicate rarely and do not wait for each
// other. Some labels are wrong. A model that trains alone memorises them; models that teach each
// other memorise fewer.

#include <sotto/models.hpp>
#include <sotto/sotto.hpp>
#include <sotto/logging/merge_rank_logs.hpp>
#include <sotto/logging/json_lines.hpp>
#include <sotto/trainer/model_path.hpp>
#include <sotto/report/report.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "transport.hpp"

namespace {

struct settings {
    std::string strategy = "all-reduce", exchange = "folder", loss = "forward-kl", teachers = "all",
                weights = "constant";
    std::string folder = "codistillation_teachers", log = "codistillation.jsonl",
                report = "codistillation.html";
    double rate = 0.05, density = 0.01, temperature = 1.0, weight = 1.0, common = 0.0, noise = 0.3,
           margin = 1.0;
    std::int64_t steps = 1500, scale = 500, age_max = -1;
    bool compare = true, quick = false;
    sotto::codistillation_groups groups{.burn_in = 100};
    sotto::training_options training{.batch_size = 32};
    examples::transport_options transport{.workers = 4};
};

/// A distillation loss selected at run time: one type for all of them.
class chosen_loss {
public:
    template <sotto::distillation_loss Loss>
    chosen_loss(std::string name, Loss of)
        : name_(std::move(name)),
          add_([of](auto... all) { of.add(all...); }),
          value_([of](auto... all) { return of.value(all...); }),
          gradient_([of](auto... all) { return of.gradient(all...); }) {}

    void add(std::span<const float> teacher, std::size_t outputs, double share,
             std::span<float> targets) const {
        add_(teacher, outputs, share, targets);
    }
    double value(std::span<const float> logits, std::size_t outputs,
                 std::span<const float> targets) const {
        return value_(logits, outputs, targets);
    }
    double gradient(std::span<const float> logits, std::size_t outputs,
                    std::span<const float> targets, double weight, std::span<float> out) const {
        return gradient_(logits, outputs, targets, weight, out);
    }
    void describe(auto&& field) const { field("is", name_); }

private:
    using floats = std::span<const float>;
    std::string name_;
    std::function<void(floats, std::size_t, double, std::span<float>)> add_;
    std::function<double(floats, std::size_t, floats)> value_;
    std::function<double(floats, std::size_t, floats, double, std::span<float>)> gradient_;
};

chosen_loss loss_of(const settings& s) {
    const std::string name = s.loss + " " + std::to_string(s.temperature);
    if (s.loss == "soft-cross-entropy")
        return {name, sotto::soft_cross_entropy{.temperature = s.temperature}};
    if (s.loss == "reverse-kl") return {name, sotto::reverse_kl{.temperature = s.temperature}};
    if (s.loss == "squared") return {s.loss, sotto::squared_logit_error{}};
    return {name, sotto::forward_kl{.temperature = s.temperature}};
}

/// A weight schedule selected at run time.
struct chosen_weight {
    std::string name;
    std::function<double(std::int64_t)> of_step;

    template <class Weight>
    chosen_weight(std::string called, Weight of)
        : name(std::move(called)), of_step([of](std::int64_t step) { return of.at(step); }) {
        of.check();
    }
    double at(std::int64_t step) const { return of_step(step); }
    void check() const {}
    void describe(auto&& field) const { field("is", name); }
};

chosen_weight weight_of(const settings& s) {
    const std::string name = s.weights + " " + std::to_string(s.weight);
    if (s.weights == "ramped")
        return {name, sotto::ramped_weight{.weight = s.weight, .steps = s.scale}};
    if (s.weights == "decayed")
        return {name, sotto::decayed_weight{.weight = s.weight, .half_life = s.scale}};
    return {name, sotto::constant_weight{.weight = s.weight}};
}

/// An exchange of models selected at run time.
class chosen_exchange {
    using place = sotto::detail::meeting_place;
    using kind = sotto::detail::checkpoint::architecture;
    using facts = sotto::detail::checkpoint::published_facts;
    using floats = std::span<const float>;

public:
    static constexpr bool by_each_rank = true;  // as --exchange folder does

    struct state {
        std::function<void(std::size_t)> begin;
        std::function<void(std::int64_t)> open;
        std::function<bool(const kind&, int, std::int64_t)> ready;
        std::function<void(const kind&)> listen;
        std::function<void(const kind&, const facts&, floats, floats, std::span<const int>)>
            publish;
        std::function<std::optional<sotto::detail::checkpoint::published_model>(const kind&, int,
                                                                                std::int64_t)>
            look;
        std::function<std::string()> problem;
        std::function<std::int64_t()> bytes_sent, skipped;
        std::function<void(std::function<void()>)> finish;
    };

    template <class Exchange>
    chosen_exchange(std::string name, Exchange of)
        : name_(std::move(name)), bind_([of](const place& where) {
              using bound = sotto::exchange_state<Exchange>;
              const auto by = std::make_shared<bound>(of.bind(where));
              return state{
                  [by](std::size_t buffers) { sotto::detail::exchanging::begin(*by, buffers); },
                  [by](std::int64_t step) { sotto::detail::exchanging::open(*by, step); },
                  [by](auto&&... all) { return sotto::detail::exchanging::is_ready(*by, all...); },
                  [by](const kind& of_models) {
                      sotto::detail::exchanging::listen(*by, of_models);
                  },
                  [by](auto&&... all) { by->publish(all...); },
                  [by](auto&&... all) { return by->look(all...); },
                  [by] { return std::string(by->problem()); },
                  [by] { return sotto::detail::exchanging::bytes_sent(*by); },
                  [by] { return sotto::detail::exchanging::skipped(*by); },
                  [by](const std::function<void()>& on_news) {
                      if constexpr (sotto::detail::exchanging::waits_at_end<bound>)
                          by->finish(on_news);
                  }};
          }) {}

    state bind(const place& where) const { return bind_(where); }
    void describe(auto&& field) const { field("is", name_); }

private:
    std::string name_;
    std::function<state(const place&)> bind_;
};

chosen_exchange exchange_of(const settings& s, const std::string& folder) {
    using namespace sotto;
    if (s.exchange == "transport") return {s.exchange, transport_exchange<>{}};
    if (s.exchange == "fp16") return {s.exchange, transport_exchange{fp16{}}};
    if (s.exchange == "top-k") return {s.exchange, transport_exchange{top_k{.density = s.density}}};
    return {s.exchange, checkpoint_exchange{.folder = folder}};
}

/// Evaluation of a group's model on digits with correct labels.
struct outcome {
    int group = 0;
    bool speaks = false;  // true if this rank prints for the group
    sotto::evaluation found{};
};

/// Trains the groups, with or without teachers.
outcome train(const settings& s, const auto& strategy, examples::any_transport& transport,
              const sotto::data::labelled_set& digits, const sotto::data::labelled_set& unseen,
              const std::string& log) {
    using namespace sotto;
    models::mlp model{784, 64, 64, 10};
    trainer trainer{model, strategy, transport, s.training};
    if (log.empty())
        trainer.fit(digits, steps{s.steps});
    else
        examples::noted(trainer.fit(digits, steps{s.steps}, progress_bar{},
                                    json_lines{log, {.every_rank = true}}));
    auto& state = trainer.state();
    return {state.groups().own, state.together().rank() == 0, trainer.evaluate(unseen)};
}

void run(const settings& s, const auto& inner, auto exchange_in) {
    using namespace sotto;
    const auto digits = data::noisy_labels(data::digits(s.quick ? 1'000 : 6'000, random_stream{1}),
                                           s.noise, random_stream{3});
    const auto unseen = data::digits(2'000, random_stream{2});
    const chosen_loss loss = loss_of(s);
    examples::with_transport(s.transport, [&](auto& transport) {
        const auto by = [&](const chosen_weight& weight, const std::string& folder) {
            return codistillation{inner,    loss,   exchange_in(folder),
                                  s.groups, weight, {.age_max = s.age_max, .margin = s.margin}};
        };
        std::optional<outcome> alone;
        if (s.compare)  // in a folder that taught groups do not read
            alone = train(s, by({"none", constant_weight{.weight = 0.0}}, s.folder + "/alone"),
                          transport, digits, unseen, "");
        const outcome taught =
            train(s, by(weight_of(s), s.folder), transport, digits, unseen, s.log);
        const auto error = [](const outcome& of) { return 100.0 * (1.0 - of.found.accuracy); };
        if (taught.speaks && alone)
            std::printf("group %d: test error %.2f %%, log-loss %.3f; alone %.2f %%, %.3f\n",
                        taught.group, error(taught), taught.found.loss, error(*alone),
                        alone->found.loss);
        else if (taught.speaks)
            std::printf("group %d: test error %.2f %%, log-loss %.3f\n", taught.group,
                        error(taught), taught.found.loss);
        transport.agree(true);  // waits until all logs are written
        if (transport.rank() != 0) return;
        std::vector<run_log> logs;  // one a model, if this job trained it
        for (int model = 0; model < s.groups.count; ++model)
            if (s.groups.only < 0 || s.groups.only == model)
                logs.push_back(read_json_lines_of_ranks(
                    sotto::path_of_model(s.log, "group-" + std::to_string(model))));
        sotto::write_report(logs, s.report, {.title = "Groups that teach each other"});
        std::printf("What teachers taught: %s\n", std::filesystem::absolute(s.report).c_str());
    });
}

/// Trains with the selected strategy inside the groups. Each one is a separate instantiation.
void with_strategy(const settings& s) {
    using namespace sotto;
    const momentum_sgd heavy{.learning_rate = s.rate, .momentum = 0.9};
    const auto exchange = [&](const std::string& folder) { return exchange_of(s, folder); };
    if (s.strategy == "dgc")
        return run(s, all_reduce{sgd{.learning_rate = s.rate}, dgc{.density = s.density}},
                   exchange);
    if (s.strategy == "gossip") return run(s, gossip{heavy, topologies::ring{}}, exchange);
    if (s.strategy == "parameter-server")
        return run(s, parameter_server{sgd{.learning_rate = s.rate}}, exchange);
    if (s.exchange == "predictions")
        return run(s, all_reduce{heavy}, [](const std::string&) { return prediction_exchange{}; });
    run(s, all_reduce{heavy}, exchange);
}

/// Refuses flags that contradict each other or have no effect.
void require_sensible(const CLI::App& app, settings& s) {
    using examples::refuse;
    const auto only = [&](const char* flag, bool has_effect, const char* with) {
        examples::require_effect(app, flag, has_effect, with);
    };
    const bool in_folder = s.exchange == "folder", of_models = s.exchange != "predictions";
    if (s.strategy == "parameter-server" && !in_folder)
        refuse("--exchange", s.exchange,
               "workers of --strategy parameter-server are not in step, and look for teachers each "
               "by itself: folder was expected");
    if (s.strategy != "all-reduce" && !of_models)
        refuse("--exchange", s.exchange,
               "this program does so with --strategy all-reduce alone: another exchange was "
               "expected");
    if (s.groups.only >= 0 && !in_folder)
        refuse("--exchange", s.exchange,
               "with --group the others are jobs of their own, met in a folder: folder was "
               "expected");
    only("--folder", in_folder, "--exchange folder");
    only("--common", of_models, "exchanges of models: predictions are of the same data");
    only("--density", s.exchange == "top-k" || s.strategy == "dgc",
         "--exchange top-k and --strategy dgc");
    only("--temperature", s.loss != "squared", "losses of probabilities");
    only("--scale", s.weights != "constant", "--weights ramped and decayed");
    only("--compare", s.groups.only < 0, "groups of one job: without --group");
    if (s.groups.only >= 0) s.compare = false;
    if (in_folder) examples::require_folder("--folder", s.folder);
    examples::require_writable({{"--log", s.log}, {"--report", s.report, true}});
}

}  // namespace

int main(int argc, char** argv) {
    settings s;
    CLI::App app{"Trains groups that teach each other", "codistillation"};
    app.option_defaults()->always_capture_default();
    app.add_option("--groups", s.groups.count, "Models, each trained by as many of the workers")
        ->check(examples::number_from(1, 1000));
    app.add_option("--group", s.groups.only,
                   "This job is that group alone, and the others are jobs of their own; -1: all "
                   "groups are in this job")
        ->check(examples::number_from(-1, 999));
    app.add_option("--strategy", s.strategy, "Inside each group")
        ->check(CLI::IsMember({"all-reduce", "dgc", "gossip", "parameter-server"}));
    app.add_option("--exchange", s.exchange,
                   "How groups learn of each other's models: a folder; the transport, with whole "
                   "models, in fp16, or top-k of what has changed; or predictions of the same "
                   "batch in every step, for which groups wait")
        ->check(CLI::IsMember({"folder", "transport", "fp16", "top-k", "predictions"}));
    app.add_option("--folder", s.folder, "folder: where models are published");
    app.add_option("--every", s.groups.every, "Steps from one exchange to the next")
        ->check(examples::at_least_one);
    app.add_option("--burn-in", s.groups.burn_in, "Steps before the first that is taught")
        ->check(examples::number_from(0, 1e9));
    app.add_option("--teachers", s.teachers, "Who teaches a group, of more than two")
        ->check(CLI::IsMember({"all", "ring", "pairs", "random"}));
    app.add_option("--common", s.groups.common,
                   "The part of the data that all groups read; 0: each has data of its own")
        ->check(examples::number_from(0.0, 1.0));
    app.add_option("--loss", s.loss, "How a teacher pulls")
        ->check(CLI::IsMember({"soft-cross-entropy", "forward-kl", "reverse-kl", "squared"}));
    app.add_option("--temperature", s.temperature, "Softens what is said")
        ->check(examples::number_above(0.0, 1e3));
    const auto* weight =
        app.add_option("--weight", s.weight,
                       "Of teachers beside the labels; with --loss squared, which pulls the harder "
                       "the further off it is, by default 0.1")
            ->check(examples::number_from(0.0, 1e3));
    app.add_option("--weights", s.weights, "How that goes on")
        ->check(CLI::IsMember({"constant", "ramped", "decayed"}));
    app.add_option("--scale", s.scale,
                   "Steps until a ramped weight is whole, or a decayed one is half")
        ->check(examples::at_least_one);
    app.add_option("--age-max", s.age_max,
                   "Steps after which a teacher's model is too old; 0: never; -1: 20 exchanges")
        ->check(examples::number_from(-1, 1e9));
    app.add_option("--margin", s.margin,
                   "By how much a teacher's loss may be worse than its student's")
        ->check(examples::number_from(0.0, 1e6));
    app.add_option("--density", s.density, "top-k, dgc: the share that is sent")
        ->check(examples::number_above(0.0, 1.0));
    app.add_option("--noise", s.noise, "The part of the labels that are drawn by chance")
        ->check(examples::number_from(0.0, 1.0));
    app.add_option("--learning-rate", s.rate, "Of each group's steps")
        ->check(examples::number_above(0.0, 1e6));
    app.add_option("--batch-size", s.training.batch_size, "Of one worker")
        ->check(examples::number_from(1, 1e6));
    app.add_option("--steps", s.steps, "Of each group")->check(examples::at_least_one);
    app.add_option("--seed", s.training.seed,
                   "Of starting values, of the order of data and of who reads which: the same in "
                   "all jobs that meet in a folder");
    app.add_option("--compare", s.compare, "First the same without teachers");
    app.add_option("--log", s.log, "JSON lines, a file for each group and rank");
    app.add_option("--report", s.report, "The HTML file to write");
    app.add_flag(
        "--quick", s.quick,
        "A few seconds: fewer digits, at most 200 steps, 50 of them before the first lesson");
    examples::add_transport(app, s.transport);
    return examples::run(app, argc, argv, [&] {
        if (s.loss == "squared" && weight->count() == 0) s.weight = 0.1;
        if (s.quick) {
            s.steps = std::min<std::int64_t>(s.steps, 200);
            s.groups.burn_in = std::min<std::int64_t>(s.groups.burn_in, 50);
        }
        for (const auto whom : {sotto::codistillation_groups::lessons_from::all,
                                sotto::codistillation_groups::lessons_from::ring,
                                sotto::codistillation_groups::lessons_from::pairs,
                                sotto::codistillation_groups::lessons_from::random})
            if (s.teachers == sotto::name_of(whom)) s.groups.lessons = whom;
        require_sensible(app, s);
        s.transport.seed = s.training.seed;
        with_strategy(s);
        return 0;
    });
}
