// A small job whose inputs, outputs and options come from arguments, name=value, for cases.sh.

#include <sotto/launch/environment.hpp>
#include <sotto/models.hpp>
#include <sotto/sotto.hpp>
#include <sotto/core/standard_streams.hpp>
#include <sotto/trainer/initialized_from.hpp>
#include <sotto/logging/chrome_trace.hpp>
#include <sotto/report/html_report.hpp>
#include <sotto/logging/json_lines.hpp>
#include <sotto/trainer/save_model.hpp>
#include <sotto/transports/tcp.hpp>
#include <sotto/transports/tcp_tls.hpp>

#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace {

class arguments {
public:
    arguments(int argc, char** argv) {
        for (int i = 1; i < argc; ++i) {
            const std::string_view whole = argv[i];
            const std::size_t equals = whole.find('=');
            if (equals == std::string_view::npos)
                throw sotto::invalid_option("'" + sotto::printable(whole) +
                                            "' is no argument; expected name=value");
            values_[std::string(whole.substr(0, equals))] = whole.substr(equals + 1);
        }
    }

    std::optional<std::string> text(const std::string& name) const {
        const auto found = values_.find(name);
        return found == values_.end() ? std::nullopt : std::optional(found->second);
    }

    template <class Number>
    Number number(const std::string& name, Number otherwise) const {
        const auto given = text(name);
        if (!given) return otherwise;
        Number value{};
        const auto [end, why] =
            std::from_chars(given->data(), given->data() + given->size(), value);
        if (why != std::errc() || end != given->data() + given->size())
            throw sotto::invalid_option(name + " is '" + sotto::printable(*given) +
                                        "'; expected a number");
        return value;
    }

private:
    std::map<std::string, std::string> values_;
};

using digit_model = sotto::models::mlp<>;

void train(const arguments& given, sotto::tcp& transport, auto& model) {
    const auto digits =
        sotto::data::digits(given.number<std::int64_t>("examples", 200), sotto::random_stream{1});
    sotto::trainer trainer{
        model,
        sotto::all_reduce{
            sotto::scheduled{sotto::sgd{.learning_rate = given.number("rate", 0.1)},
                             sotto::step_decay{.every_epochs = given.number("decay_every", 30.0),
                                               .factor_per_step = given.number("decay", 0.1)}},
            sotto::dgc{.density = given.number("density", 0.01), .momentum = 0.9}},
        transport,
        sotto::training_options{.batch_size = given.number<std::int64_t>("batch", 8),
                                .seed = given.number<std::uint64_t>("seed", 0)}};
    const bool first = transport.rank() == 0;
    const auto stops_at = given.number<std::int64_t>("stop_at", 0);
    const auto halt = [&](const sotto::step_report& step) {
        if (step.step != stops_at || !first) return;
        std::puts("halts");
        std::fflush(stdout);
        std::raise(SIGSTOP);
    };
    const auto fit = [&](auto&&... outputs) {
        const sotto::steps steps{given.number<std::int64_t>("steps", 20)};
        sotto::require_complete_output(trainer.fit(digits, steps, halt, outputs...));
    };
    if (const auto folder = given.text("checkpoints")) {
        const auto before = trainer.try_resume(*folder);
        if (before.found && first)
            std::printf("resumes after step %lld\n", static_cast<long long>(before.step));
        fit(sotto::checkpoints{*folder,
                               {.every_steps = given.number<std::int64_t>("every", 10),
                                .keep = given.number<std::int64_t>("keep", 2)}});
    } else if (const auto log = given.text("log")) {
        fit(sotto::json_lines{*log});
    } else if (const auto trace = given.text("trace")) {
        fit(sotto::chrome_trace{*trace});
    } else if (const auto report = given.text("report")) {
        fit(sotto::html_report{*report});
    } else {
        fit();
    }
    if (const auto file = given.text("save")) sotto::save_model(trainer, *file);
    if (first) std::printf("done after step %lld\n", static_cast<long long>(trainer.step()));
}

void run(const arguments& given) {
    auto options = sotto::tcp_options::at(sotto::launch::from_environment());
    if (std::getenv("SOTTO_SECRET_FILE") || std::getenv("SOTTO_SECRET"))
        options.security = sotto::pre_shared_key::from_environment();
    const auto milliseconds = [&](const char* name, std::int64_t otherwise) {
        return std::chrono::milliseconds(given.number(name, otherwise));
    };
    options.join = milliseconds("join_ms", 10'000);
    options.timeout = milliseconds("timeout_ms", 10'000);
    options.dead_after = milliseconds("dead_ms", 2'000);
    sotto::tcp transport = sotto::tcp::join(options);
    try {
        digit_model model{784, 16, 10};
        if (const auto file = given.text("load")) {
            sotto::initialized_from begun{model, sotto::load_model(*file, model.layout())};
            train(given, transport, begun);
        } else {
            train(given, transport, model);
        }
    } catch (...) {
        sotto::fail_with_exception(transport);
        throw;
    }
}

}  // namespace

int main(int argc, char** argv) try {
    sotto::open_standard_streams();
    run(arguments(argc, argv));
    sotto::require_standard_output();
    return 0;
} catch (...) {
    return sotto::report_exception("train");
}
