// Trains a character language model on four workers and generates text with it.

#include <sotto/data/read_text.hpp>
#include <sotto/models/character_lstm.hpp>
#include <sotto/models.hpp>
#include <sotto/sotto.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "transport.hpp"

namespace {

struct settings {
    std::string text;  // file name; empty: generated sums
    sotto::models::character_lstm<>::options model{
        .width = 32, .hidden = 128, .layers = 1, .length = 32};
    double rate = 1.0;
    std::int64_t passes = 12, written = 120;
    std::uint64_t seed = 0;
    examples::transport_options transport{};
    bool quick = false;
};

/// Returns sums in words, which a reader can check: "seven and six are thirteen. "
std::string sums_in_words(std::int64_t characters, sotto::random_stream random) {
    constexpr std::array words{"no",      "one",     "two",       "three",    "four",
                               "five",    "six",     "seven",     "eight",    "nine",
                               "ten",     "eleven",  "twelve",    "thirteen", "fourteen",
                               "fifteen", "sixteen", "seventeen", "eighteen"};
    std::string text;
    while (static_cast<std::int64_t>(text.size()) < characters) {
        const std::size_t a = random.below(10), b = random.below(10);
        text.append(words[a]).append(" and ").append(words[b]);
        text.append(a + b == 1 ? " is " : " are ").append(words[a + b]).append(". ");
    }
    return text;
}

/// Continues `text` by `count` characters. Draws each one from the model's probabilities, given as
/// many of the last characters as the model reads.
template <class Model>
std::string write_on(Model& model, std::span<const float> parameters,
                     const sotto::data::vocabulary& known, std::string text, std::int64_t count,
                     sotto::random_stream random) {
    const auto length = static_cast<std::size_t>(model.positions());
    const auto outputs = static_cast<std::size_t>(model.outputs());
    sotto::data::labelled_batch batch;
    batch.resize(1, model.positions(), model.positions());
    for (; count > 0; --count) {
        const std::size_t seen = std::min(text.size(), length);
        const std::string last = text.substr(text.size() - seen);
        const auto ids = known.encode(last).value([] { return std::string("the beginning"); });
        std::ranges::fill(batch.inputs(), 0.0f);  // later positions do not affect earlier ones
        std::ranges::copy(ids, batch.inputs().begin());
        const auto logits = model.predict(parameters, batch).subspan((seen - 1) * outputs, outputs);
        const float top = *std::ranges::max_element(logits);
        std::vector<double> chances(outputs);
        double sum = 0.0;
        for (std::size_t i = 0; i < outputs; ++i)
            sum += chances[i] = std::exp(double{logits[i]} - top);
        double left = random.uniform(0.0f, 1.0f) * sum;
        std::size_t next = 0;
        while (next + 1 < outputs && left >= chances[next]) left -= chances[next++];
        text += known.character(static_cast<std::uint8_t>(next));
    }
    return text;
}

int learn_and_write(const settings& s) {
    using namespace sotto;
    const sotto::data::text_set::windows windows{.length = s.model.length};
    const auto text =
        s.text.empty()
            ? data::text_set(sums_in_words(s.quick ? 40'000 : 200'000, random_stream{1}), windows)
            : data::read_text(s.text, windows);
    const auto parts = data::split(text);

    bool learnt = true;
    examples::with_transport(s.transport, [&](auto& transport) {
        if (transport.rank() == 0)
            std::printf("%lld characters, %lld different ones\n",
                        static_cast<long long>(text.characters()),
                        static_cast<long long>(text.vocabulary().size()));
        models::character_lstm model{text.vocabulary().size(), s.model};
        trainer trainer{
            model,
            all_reduce{sgd{.learning_rate = s.rate}, dgc{.density = 0.01,
                                                         .momentum = 0.9,
                                                         .warm_up_epochs = 1,
                                                         .clip_norm = 1.0,
                                                         .clip = local_clipping::per_model}},
            transport,
            {.batch_size = 8, .seed = s.seed}};
        const auto report = examples::noted(trainer.fit(
            parts.train, epochs{s.passes}, evaluate_on{parts.validation}, progress_bar{}));
        if (transport.rank() != 0) return;
        const double loss = report.evaluated->loss;
        std::printf("validation: %.3f nats a character, as unsure as between %.2f characters\n",
                    loss, std::exp(loss));
        std::printf("gradients of %.1f MiB were sent as %.1f MiB\n",
                    static_cast<double>(report.total.dense_bytes) / (1 << 20),
                    static_cast<double>(report.total.message_bytes) / (1 << 20));
        const std::string beginning(1, text.vocabulary().character(0));
        std::printf("it writes: %s\n",
                    write_on(model, trainer.parameters(), text.vocabulary(), beginning, s.written,
                             random_stream{s.seed}.split("writing"))
                        .c_str());
        learnt = loss < 0.7 * std::log(static_cast<double>(text.vocabulary().size()));
    });
    return learnt ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    settings s;
    CLI::App app{"Learns to write, character by character", "character_language_model"};
    app.option_defaults()->always_capture_default();
    app.add_option("--text", s.text, "A text to learn; without it, generated sums in words")
        ->check(CLI::ExistingFile);
    app.add_option("--width", s.model.width, "Of a character's vector");
    app.add_option("--hidden", s.model.hidden, "Of the LSTM's state");
    app.add_option("--layers", s.model.layers, "Of the LSTM");
    app.add_option("--length", s.model.length, "Characters that are read at once");
    app.add_option("--learning-rate", s.rate);
    const auto* passes = app.add_option("--epochs", s.passes);
    app.add_option("--write", s.written, "Characters to write in the end");
    app.add_option("--seed", s.seed)->check(examples::whole_number);
    app.add_flag("--quick", s.quick, "The same in seconds");
    examples::add_transport(app, s.transport);
    return examples::run(app, argc, argv, [&] {
        if (s.quick && passes->empty()) s.passes = 4;
        return learn_and_write(s);
    });
}
