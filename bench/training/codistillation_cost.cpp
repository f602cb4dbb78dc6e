// What codistillation costs beside training alone: two groups of one worker each, a thread each,
// that teach each other, and the same two that do not; these with a pass forward more in each step,
// by their own weights as they were when the block began; and a pass forward again and again, by
// itself. A block of each in turn, since clocks drift. The cost of a step is reckoned in passes of
// the first kind, of which a teacher needs one: what is above it are exchanges of models, losses
// and gates. Writes one JSON object; see codistillation.py.

#include <sotto/models/lenet.hpp>
#include <sotto/models.hpp>
#include <sotto/sotto.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace {

struct settings {
    std::string out;
    std::uint64_t seed = 1;
    std::int64_t rounds = 21, every = 50, batch_size = 64;
};

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

std::vector<sotto::data::labelled_batch> some_batches(const settings& s,
                                                      const sotto::data::labelled_set& examples) {
    std::vector<sotto::data::labelled_batch> all(8);
    std::vector<std::int64_t> indices(static_cast<std::size_t>(s.batch_size));
    for (std::size_t i = 0; i < all.size() * indices.size(); ++i) {
        indices[i % indices.size()] = static_cast<std::int64_t>(i) % examples.size();
        if ((i + 1) % indices.size() == 0) examples.gather(indices, all[i / indices.size()]);
    }
    return all;
}

/// What one of the trainings costs, block by block: seconds a step, by the first group's clock.
struct measured {
    std::vector<double> step, listening;
    std::int64_t heard = 0;
};

/// A block of steps, as long as an interval between exchanges, each of them with something `more`.
void train(const settings& s, auto& trainer, const sotto::data::labelled_set& examples,
           measured& found, auto more) {
    using namespace sotto;
    double listening = 0.0;
    const auto began = std::chrono::steady_clock::now();
    trainer.fit(examples, steps{s.every}, [&](const step_report& step) {
        listening += in_seconds(step.round.taught.listening);
        found.heard += step.round.taught.teachers > 0;
        more();
    });
    const double took =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    if (!std::all_of(trainer.parameters().begin(), trainer.parameters().end(),
                     [](float value) { return std::isfinite(value); }))
        throw error(errc::non_finite, "parameters");
    found.step.push_back(took / static_cast<double>(s.every));
    found.listening.push_back(listening / static_cast<double>(s.every));
}

struct costs {
    measured alone, more, over, in_folder;
    std::vector<double> passes;  // by themselves
};

/// All trainings, a block each in turn, on both processors at once.
costs measure(const settings& s, auto make_model, const sotto::data::labelled_set& examples) {
    using namespace sotto;
    const std::filesystem::path folder = s.out + ".teachers";
    costs found;
    run_in_process(2, [&](auto& transport) {
        const auto train_by = [&](auto& model, const auto& exchange, double weight) {
            sotto::codistillation_groups groups{.every = s.every, .common = 1.0};
            if (weight == 0.0) groups.every = 1 << 30;  // nobody is asked, and nothing sent
            return trainer{
                model,
                codistillation{all_reduce{momentum_sgd{.learning_rate = 0.01}}, forward_kl{},
                               exchange, groups, constant_weight{.weight = weight},
                               sotto::detail::teacher_rules{.margin = 1e9}},
                transport,
                {.batch_size = s.batch_size, .seed = s.seed}};
        };
        auto of_alone = make_model(), of_more = make_model(), of_over = make_model(),
             of_folder = make_model();
        auto alone = train_by(of_alone, transport_exchange<>{}, 0.0);
        auto with_more = train_by(of_more, transport_exchange<>{}, 0.0);
        auto over = train_by(of_over, transport_exchange<>{}, 1.0);
        auto in_folder = train_by(of_folder, checkpoint_exchange{.folder = folder}, 1.0);
        const auto batches = some_batches(s, examples);
        sotto::detail::large_vector<float> at_start;  // a teacher has learnt, too
        std::size_t at = 0;
        double sum = 0.0;
        const auto nothing = [] {};
        const auto pass = [&] {
            sum += of_more.predict(at_start, batches[at++ % batches.size()])[0];
        };
        costs all;
        for (std::int64_t round = -2; round < s.rounds; ++round) {
            if (round == 0) all = {};  // before that all teachers come to be heard
            train(s, alone, examples, all.alone, nothing);
            at_start.assign(with_more.parameters().begin(), with_more.parameters().end());
            train(s, with_more, examples, all.more, pass);
            train(s, over, examples, all.over, nothing);
            train(s, in_folder, examples, all.in_folder, nothing);
            transport.agree(true);
            const auto began = std::chrono::steady_clock::now();
            for (std::int64_t i = 0; i < s.every; ++i) pass();
            all.passes.push_back(
                std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count() /
                static_cast<double>(s.every));
        }
        if (!std::isfinite(sum)) throw error(errc::non_finite, "logits");
        if (transport.rank() == 0) found = all;
    });
    std::filesystem::remove_all(folder);
    for (const measured* taught : {&found.over, &found.in_folder})
        if (taught->heard < s.rounds * s.every * 9 / 10)
            throw error(errc::invalid_option, "teachers were heard in " +
                                                  std::to_string(taught->heard) + " of " +
                                                  std::to_string(s.rounds * s.every) + " steps");
    return found;
}

nlohmann::json compare(const char* name, const settings& s, auto make_model,
                       const sotto::data::labelled_set& examples) {
    const costs found = measure(s, make_model, examples);
    return {{"model", name},
            {"alone", median(found.alone.step)},
            {"more", median(found.more.step)},
            {"over", median(found.over.step)},
            {"in_folder", median(found.in_folder.step)},
            {"pass", median(found.passes)},
            {"listening", median(found.over.listening)}};
}

}  // namespace

int main(int argc, char** argv) {
    settings s;
    CLI::App app{"What codistillation costs beside training alone"};
    app.add_option("--out", s.out, "Where the result goes")->required();
    app.add_option("--rounds", s.rounds)->check(CLI::PositiveNumber);
    app.add_option("--every", s.every, "Steps between exchanges")->check(CLI::PositiveNumber);
    app.add_option("--batch-size", s.batch_size)->check(CLI::PositiveNumber);
    app.add_option("--seed", s.seed);
    CLI11_PARSE(app, argc, argv);
    const auto began = std::chrono::steady_clock::now();
    const auto digits = sotto::data::digits(4096, sotto::random_stream{s.seed});
    const auto small = [] { return sotto::models::mlp{784, 256, 128, 10}; };
    const auto large = [] { return sotto::models::mlp{784, 1024, 1024, 10}; };
    const auto lenet = [] { return sotto::models::lenet{}; };
    nlohmann::json found;
    found["models"] = {compare("MLP 784-256-128-10", s, small, digits),
                       compare("MLP 784-1024-1024-10", s, large, digits),
                       compare("LeNet", s, lenet, digits)};
    found["took"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    std::ofstream(s.out) << found.dump() << "\n";
    return 0;
}
