// One run of the study of codistillation: trains groups on a simulated network that teach each
// other, or what they are compared with, twice with other chance, and writes one JSON object: how
// good the models are, and how much what they say differs between the two trainings. See
// codistillation.py, which runs all of them.

#include <sotto/data/read_text.hpp>
#include <sotto/models/character_lstm.hpp>
#include <sotto/models.hpp>
#include <sotto/sotto.hpp>
#include <sotto/transports/run_simulated.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "study.hpp"

#include "sotto/checkpoint/detail/posix_files.hpp"

namespace {

struct settings {
    std::string data, out;
    std::string model = "mlp";
    std::string how = "groups";        // or: ensemble, two_phase, made_up
    std::string teacher = "inverted";  // of made_up
    double noise = 0.3;                // of the labels
    double part = 1.0;                 // of the examples that are there at all
    double rate = 0.05, momentum = 0.9, weight = 1.0, smoothing = 0.0, unigram = 0.0;
    double warm_up = 0.0;  // epochs
    int ranks = 1;         // of each group
    std::int64_t examples = 12000, batch_size = 64, steps = 2500, hidden = 128, curve = 0;
    sotto::codistillation_groups groups{.count = 1, .burn_in = 100};
    std::uint64_t seed = 1;
};

/// A teacher that nobody would wish for, made of what the student publishes.
class made_up_teacher {
public:
    std::string kind{};
    std::uint64_t seed = 0;
    std::filesystem::path folder{};  // of truncated: where the files are

    auto bind(const sotto::detail::meeting_place& place) const {
        return state(*this, place.tensors);
    }
    void describe(auto&& field) const { field("kind", kind); }

private:
    class state {
    public:
        state(const made_up_teacher& of, const sotto::layout& tensors)
            : kind_(of.kind), folder_(of.folder), random_(of.seed), tensors_(tensors) {}

        void publish(const sotto::detail::checkpoint::architecture& model,
                     const sotto::detail::checkpoint::published_facts& facts,
                     std::span<const float> parameters, std::span<const float> buffers,
                     std::span<const int>) {
            if (kind_ == "frozen" && step_ >= 100) return;
            step_ = facts.step;
            if (kind_ == "truncated") leave_half(model, facts, parameters, buffers);
            own_.facts = facts;
            own_.facts.judged.clear();
            own_.parameters.assign(parameters.begin(), parameters.end());
            own_.buffers.assign(buffers.begin(), buffers.end());
        }

        std::optional<sotto::detail::checkpoint::published_model> look(
            const sotto::detail::checkpoint::architecture& model, int, std::int64_t after) {
            if (kind_ == "truncated")
                return sotto::detail::checkpoint::read_published(files_, folder_, model, after);
            if (step_ <= after) return std::nullopt;
            auto made = own_;
            if (kind_ == "random")
                for (float& value : made.parameters) value = random_.uniform(-0.3f, 0.3f);
            if (kind_ == "nan") made.parameters[made.parameters.size() / 2] = std::nanf("");
            if (kind_ == "inverted")  // what was likeliest is now the least likely
                for (const sotto::tensor& t : tensors_)
                    if (t.index >= std::ssize(tensors_.tensors()) - 2)
                        for (float& value : t.of(std::span(made.parameters))) value = -value;
            return made;
        }

        std::string problem() const { return {}; }

    private:
        /// A file as if its writer had died in the middle of it, and had not been careful.
        void leave_half(const sotto::detail::checkpoint::architecture& model,
                        const sotto::detail::checkpoint::published_facts& facts,
                        std::span<const float> parameters, std::span<const float> buffers) {
            const std::string problem = sotto::detail::checkpoint::publish_model(
                files_, folder_, model, facts, parameters, buffers);
            if (!problem.empty()) throw sotto::io_failure(problem);
            for (const auto& file : std::filesystem::directory_iterator(folder_))
                if (file.file_size() > 4 * parameters.size())
                    std::filesystem::resize_file(file, file.file_size() / 2);
        }

        std::string kind_;
        std::filesystem::path folder_;
        sotto::detail::checkpoint::posix_files files_;
        sotto::random_stream random_;
        sotto::layout tensors_;
        sotto::detail::checkpoint::published_model own_;
        std::int64_t step_ = -1;
    };
};

/// What is left of a training.
struct outcome {
    std::vector<std::vector<float>> models;  // of each group
    std::vector<sotto::evaluation> found;
    nlohmann::json curve = nlohmann::json::array();  // of the first group: step and loss
    std::int64_t heard = 0, steps = 0, bytes = 0;    // of its first rank
};

template <class Model, class Strategy, class Data>
outcome train(const settings& s, const Strategy& strategy, auto make_model, const Data& examples,
              const Data& unseen, std::uint64_t seed) {
    using namespace sotto;
    const int groups = s.groups.only >= 0 ? 1 : s.groups.count;
    outcome all;
    all.models.resize(static_cast<std::size_t>(groups));
    all.found.resize(static_cast<std::size_t>(groups));
    run_simulated(groups * s.ranks, study::network(s.seed), [&](simulated& transport) {
        Model model = make_model();
        trainer trainer{model, strategy, transport, {.batch_size = s.batch_size, .seed = seed}};
        const auto see = [&](const step_report& step) {
            if (transport.rank() != 0) return;
            ++all.steps;
            all.heard += step.round.taught.teachers > 0;
            all.bytes += step.round.taught.bytes_sent;
        };
        const std::int64_t at_once = s.curve > 0 ? s.curve : s.steps;
        evaluation found;
        for (std::int64_t done = 0; done < s.steps; done += at_once) {
            trainer.fit(examples, steps{std::min(at_once, s.steps - done)}, see);
            found = trainer.evaluate(unseen);
            if (transport.rank() == 0)
                all.curve.push_back({{"step", std::min(done + at_once, s.steps)},
                                     {"loss", found.loss},
                                     {"error", 100.0 * (1.0 - found.accuracy)}});
        }
        if (transport.rank() % s.ranks != 0) return;
        const auto group = static_cast<std::size_t>(transport.rank() / s.ranks);
        all.found[group] = found;
        all.models[group].assign(trainer.parameters().begin(), trainer.parameters().end());
    });
    return all;
}

/// The optimizer, or what trains each group: all workers of it in step.
auto inner_of(const settings& s) {
    using namespace sotto;
    return all_reduce{momentum_sgd{.learning_rate = s.rate, .momentum = s.momentum}};
}

auto by_groups(const settings& s, const auto& inner) {
    using namespace sotto;
    return codistillation{inner, forward_kl{}, transport_exchange<>{}, s.groups,
                          constant_weight{.weight = s.weight}};
}

nlohmann::json shown(const sotto::evaluation& found) {
    return {{"error", 100.0 * (1.0 - found.accuracy)}, {"loss", found.loss}};
}

nlohmann::json shown(const outcome& all) {
    auto groups = nlohmann::json::array();
    for (const auto& found : all.found) groups.push_back(shown(found));
    return {{"groups", groups},
            {"curve", all.curve},
            {"heard", all.heard},
            {"steps", all.steps},
            {"bytes", all.bytes}};
}

nlohmann::json shown(const sotto::churn& of) {
    return {{"difference", of.difference}, {"flips", of.flips}};
}

template <class Model, class Data>
sotto::churn between(Model& model, const std::vector<sotto::detail::ensemble_member>& first,
                     const std::vector<sotto::detail::ensemble_member>& second,
                     const Data& unseen) {
    sotto::ensemble a{model, first}, b{model, second};
    return sotto::churn_between(a.predict(unseen), b.predict(unseen), model.outputs());
}

std::vector<sotto::detail::ensemble_member> members(const std::vector<std::vector<float>>& models) {
    std::vector<sotto::detail::ensemble_member> all;
    for (const auto& parameters : models) all.push_back({parameters, {}});
    return all;
}

template <class Model, class Data>
nlohmann::json study(const settings& s, auto make_model, const Data& examples, const Data& unseen) {
    using namespace sotto;
    Model model = make_model();
    const auto go = [&](const settings& which, std::uint64_t seed) {
        return train<Model>(which, by_groups(which, inner_of(which)), make_model, examples, unseen,
                            seed);
    };
    const std::uint64_t again = s.seed + 1000;
    if (s.how == "ensemble") {  // models that were trained alone, asked together
        settings alone = s;
        alone.groups.count = 1;
        std::vector<std::vector<std::vector<float>>> models(2);
        auto found = nlohmann::json::array();
        for (std::size_t time = 0; time < 2; ++time) {
            for (const std::uint64_t other : {0u, 500u})
                models[time].push_back(go(alone, (time == 0 ? s.seed : again) + other).models[0]);
            const sotto::detail::ensemble_scores scores =
                ensemble{model, members(models[time])}.evaluate(unseen);
            found.push_back(
                {{"error", 100.0 * (1.0 - scores.accuracy)}, {"loss", scores.log_loss}});
        }
        return {{"first", {{"groups", found}}},
                {"churn", shown(between(model, members(models[0]), members(models[1]), unseen))}};
    }
    if (s.how == "two_phase") {  // a student of two that were trained alone
        settings alone = s;
        alone.groups.count = 1;
        const auto folder = std::filesystem::path(s.out + ".teachers");
        std::vector<outcome> students;
        for (const std::uint64_t seed : {s.seed, again}) {
            std::filesystem::remove_all(folder);
            sotto::detail::checkpoint::posix_files files;
            for (const std::uint64_t other : {0u, 1u}) {
                const outcome teacher = go(alone, seed + 500 * (other + 1));
                const auto kind = sotto::detail::architecture_of(model);
                const std::string problem = sotto::detail::checkpoint::publish_model(
                    files,
                    sotto::detail::checkpoint::models_folder(folder, static_cast<int>(other)), kind,
                    {.step = s.steps, .architecture = kind.identity()}, teacher.models[0], {});
                if (!problem.empty()) throw io_failure(problem);
            }
            students.push_back(
                train<Model>(alone,
                             codistillation{inner_of(s), forward_kl{},
                                            finished_models{.folder = folder, .count = 2},
                                            alone.groups, constant_weight{.weight = s.weight}},
                             make_model, examples, unseen, seed));
        }
        std::filesystem::remove_all(folder);
        return {{"first", shown(students[0])},
                {"second", shown(students[1])},
                {"churn", shown(between(model, members(students[0].models),
                                        members(students[1].models), unseen))}};
    }
    if (s.how == "made_up") {  // a student whose teacher is not one
        settings one = s;
        one.groups.count = 2;
        one.groups.only = 0;
        one.groups.common = 1.0;
        const outcome student = train<Model>(
            one,
            codistillation{inner_of(s), forward_kl{},
                           made_up_teacher{s.teacher, s.seed, s.out + ".teacher"}, one.groups,
                           constant_weight{.weight = s.teacher == "none" ? 0.0 : s.weight}},
            make_model, examples, unseen, s.seed);
        std::filesystem::remove_all(s.out + ".teacher");
        return {{"first", shown(student)}};
    }
    const outcome first = go(s, s.seed);
    if (s.curve > 0) return {{"first", shown(first)}};
    const outcome second = go(s, again);
    return {{"first", shown(first)},
            {"second", shown(second)},
            {"churn", shown(between(model, members({first.models[0]}), members({second.models[0]}),
                                    unseen))}};
}

nlohmann::json mlp(const settings& s) {
    using namespace sotto;
    const auto clean = study::mnist(s.data, false).take(0, s.examples);
    const auto digits =
        data::noisy_labels(clean, s.noise, random_stream{17})
            .take(0, static_cast<std::int64_t>(s.part * static_cast<double>(s.examples)));
    const auto unseen = study::mnist(s.data, true);
    if (s.unigram > 0.0) {
        const smoothed_cross_entropy loss{.smoothing = s.unigram,
                                          .towards = frequencies_of(digits, 10)};
        const auto make = [&] { return models::mlp{{784, 64, 64, 10}, loss}; };
        return study<decltype(make())>(s, make, digits, unseen);
    }
    const auto make = [&] {
        return models::mlp{{784, 64, 64, 10}, cross_entropy{.label_smoothing = s.smoothing}};
    };
    return study<decltype(make())>(s, make, digits, unseen);
}

nlohmann::json character_lstm(const settings& s) {
    using namespace sotto;
    const auto text = data::read_text(s.data + "/tinyshakespeare/input.txt");
    const auto parts = data::split(text);
    const auto make = [&] {
        return models::character_lstm{text.vocabulary().size(),
                                      {.width = s.hidden, .hidden = s.hidden}};
    };
    const all_reduce inner{scheduled{adamw{.learning_rate = s.rate, .weight_decay = 0.0},
                                     rate_warm_up{.epochs = std::max(s.warm_up, 0.01)}}};
    return {{"first", shown(train<decltype(make())>(s, by_groups(s, inner), make, parts.train,
                                                    parts.validation, s.seed))}};
}

}  // namespace

int main(int argc, char** argv) {
    settings s;
    CLI::App app{"One run of the study of codistillation"};
    app.add_option("--data", s.data, "Folder with mnist/ and tinyshakespeare/")
        ->required()
        ->envname("SOTTO_DATA");
    app.add_option("--out", s.out, "Where the result goes")->required();
    app.add_option("--model", s.model)->check(CLI::IsMember({"mlp", "character_lstm"}));
    app.add_option("--how", s.how)
        ->check(CLI::IsMember({"groups", "ensemble", "two_phase", "made_up"}));
    app.add_option("--teacher", s.teacher, "made_up: what it is")
        ->check(CLI::IsMember({"none", "random", "nan", "inverted", "frozen", "truncated"}));
    app.add_option("--noise", s.noise, "Part of the labels drawn by chance");
    app.add_option("--part", s.part, "Of the examples that are there at all");
    app.add_option("--groups", s.groups.count);
    app.add_option("--common", s.groups.common, "Part of the data that all groups read");
    app.add_option("--every", s.groups.every);
    app.add_option("--burn-in", s.groups.burn_in);
    app.add_option("--weight", s.weight);
    app.add_option("--ranks", s.ranks, "Of each group")->check(CLI::PositiveNumber);
    app.add_option("--learning-rate", s.rate);
    app.add_option("--momentum", s.momentum);
    app.add_option("--warm-up", s.warm_up, "character_lstm: epochs until the rate is whole");
    app.add_option("--smoothing", s.smoothing, "Of labels, towards all outputs alike");
    app.add_option("--unigram", s.unigram, "Of labels, towards their frequencies");
    app.add_option("--examples", s.examples);
    app.add_option("--batch-size", s.batch_size, "Of one rank");
    app.add_option("--steps", s.steps);
    app.add_option("--curve", s.curve, "Steps between evaluations; 0: one in the end");
    app.add_option("--hidden", s.hidden, "Width of the character LSTM");
    app.add_option("--seed", s.seed);
    CLI11_PARSE(app, argc, argv);
    const auto began = std::chrono::steady_clock::now();
    nlohmann::json found = s.model == "mlp" ? mlp(s) : character_lstm(s);
    found["took"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    std::ofstream(s.out) << found.dump() << "\n";
    return 0;
}
