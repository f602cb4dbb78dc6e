// Every number that a constructor, a function or an aggregate without describe takes is checked
// before it is used, as those of policies are: see options.cpp.

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "sotto/collectives/measured.hpp"
#include "sotto/compressors/none.hpp"
#include "sotto/core/clock.hpp"
#include "sotto/core/random.hpp"
#include "sotto/data/augmented.hpp"
#include "sotto/data/digits.hpp"
#include "sotto/data/dirichlet_split.hpp"
#include "sotto/data/labelled_set.hpp"
#include "sotto/data/noisy_labels.hpp"
#include "sotto/data/sampler.hpp"
#include "sotto/data/text_set.hpp"
#include "sotto/models/character_lstm.hpp"
#include "sotto/models/lenet.hpp"
#include "sotto/models/mlp.hpp"
#include "sotto/models/residual_cnn.hpp"
#include "sotto/models/softmax_regression.hpp"
#include "sotto/topologies/edge_list.hpp"
#include "sotto/report/advice_calibration.hpp"
#include "sotto/report/advice_link.hpp"
#include "sotto/trainer/checkpoints.hpp"
#include "sotto/logging/chrome_trace.hpp"
#include "sotto/trainer/early_stop.hpp"
#include "sotto/trainer/detail/fit_request.hpp"
#include "sotto/report/html_report.hpp"
#include "sotto/logging/json_lines.hpp"
#include "sotto/trainer/options.hpp"
#include "sotto/transports/detail/in_process/in_process_hub.hpp"
#include "sotto/transports/packet_options.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "sotto/transports/simulated_options.hpp"
#include "sotto/transports/tcp_options.hpp"
#include "support/folders.hpp"
#include "support/generators.hpp"
#include "support/wrong_options.hpp"

using namespace sotto;

namespace {

/// An aggregate with one of its numbers changed.
template <class Aggregate, class Number>
Aggregate with(Number Aggregate::*option, Number value, Aggregate other = {}) {
    other.*option = value;
    return other;
}

data::labelled_set images() {
    return {{1, 4, 4}, std::vector<std::uint8_t>(32), {0, 1}};
}

}  // namespace

TEST_CASE("data: a wrong number -> refused by name") {
    testing::wrong_options tries({{"augmented.padding", "0"},
                                  {"augmented.fill", "-1 0"},
                                  {"byte_scale.mean", "-1 0"},
                                  {"byte_scale.scale", "-1 0"},
                                  {"digits.count", "0"},
                                  {"dirichlet_split.alpha", "1e39 1e300"},
                                  {"dirichlet_split.ranks", "?max"},
                                  {"noisy_labels.part", "0"},
                                  {"sampler.size", "0 ?max"},
                                  {"sampler.batch_size", "max"},
                                  {"sampler.share.count", "0 max"},
                                  {"sampler.share.index", "0"},
                                  {"sampler.shard.count", "max"},
                                  {"sampler.shard.index", "0"},
                                  {"sampler.shard.common", "0"},
                                  {"split.share", ""},
                                  {"text_set.length", ""},
                                  {"text_set.stride", "0 max"}});
    using large = std::int64_t;
    using augmentation = data::augmented<data::labelled_set>::options;
    const random_stream random;
    tries.option<large>("augmented.padding", [](large value) {
        data::augmented{images(), with(&augmentation::padding, value)};
    });
    tries.option<float>("augmented.fill", [](float value) {
        data::augmented{images(), with(&augmentation::fill, value, {.padding = 1})};
    });
    for (const auto& [key, number] :
         {std::pair{"byte_scale.mean", &detail::data::byte_scale::mean},
          std::pair{"byte_scale.scale", &detail::data::byte_scale::scale}})
        tries.option<float>(key, [number = number](float value) {
            data::labelled_set({1, 1, 1}, std::vector<std::uint8_t>{1}, {0}, with(number, value));
        });
    tries.option<large>("digits.count", [](large value) { (void)data::digits(value); });
    const std::vector<std::int32_t> labels{0, 1, 1, 0};
    tries.option<double>("dirichlet_split.alpha", [&](double value) {
        (void)data::dirichlet_split(labels, 2, value, random);
    });
    tries.option<large>("dirichlet_split.ranks", [&](large value) {
        (void)data::dirichlet_split(labels, value, 1.0, random);
    });
    tries.option<double>("noisy_labels.part",
                         [&](double value) { (void)data::noisy_labels(images(), value, random); });
    tries.option<large>("sampler.size",
                        [&](large value) { detail::data::sampler(value, {}, 4, random); });
    tries.option<large>("sampler.batch_size", [&](large value) {
        detail::data::sampler(10, {}, value, random).batch(0);
    });
    tries.option<large>("sampler.share.count", [&](large value) {
        detail::data::sampler(10, {0, value}, 4, random);
    });
    tries.option<large>("sampler.share.index", [&](large value) {
        detail::data::sampler(10, {value, 2}, 4, random);
    });
    tries.option<large>("sampler.shard.count", [&](large value) {
        detail::data::sampler(10, {}, 4, random, true, {.index = 0, .count = value});
    });
    tries.option<large>("sampler.shard.index", [&](large value) {
        detail::data::sampler(10, {}, 4, random, true, {.index = value, .count = 2});
    });
    tries.option<double>("sampler.shard.common", [&](double value) {
        detail::data::sampler(10, {}, 4, random, true, {.index = 0, .count = 2, .common = value});
    });
    const data::text_set text("a text that is long enough", {.length = 4});
    tries.option<double>("split.share", [&](double value) { (void)split(text, value); });
    tries.option<large>("text_set.length", [](large value) {
        data::text_set("some text", with(&data::text_set::windows::length, value));
    });
    tries.option<large>("text_set.stride", [](large value) {
        data::text_set("some text", with(&data::text_set::windows::stride, value, {.length = 4}));
    });
    CHECK(tries.left_out().empty());
}

TEST_CASE("models: a wrong number -> refused by name") {
    testing::wrong_options tries({{"softmax_regression.inputs", ""},
                                  {"softmax_regression.classes", ""},
                                  {"mlp.hidden", ""},
                                  {"lenet.classes", ""},
                                  {"residual_cnn.blocks", ""},
                                  {"residual_cnn.width", ""},
                                  {"residual_cnn.classes", ""},
                                  {"character_lstm.vocabulary", ""},
                                  {"character_lstm.width", ""},
                                  {"character_lstm.hidden", ""},
                                  {"character_lstm.layers", ""},
                                  {"character_lstm.length", ""}});
    using large = std::int64_t;
    // What is wrong is an option of a layer inside, which the refusal names.
    const auto named = [](const char* option, auto make) {
        return [option, make](large value) {
            try {
                make(value);
            } catch (const invalid_option& e) {
                throw invalid_option(std::string(option) + " by " + e.what());
            }
        };
    };
    tries.option<large>("softmax_regression.inputs", named("inputs", [](large value) {
                            models::softmax_regression(value, 10);
                        }));
    tries.option<large>("softmax_regression.classes", named("classes", [](large value) {
                            models::softmax_regression(4, value);
                        }));
    tries.option<large>("mlp.hidden", named("hidden", [](large value) {
                            models::mlp({4, value, 2});
                        }));
    tries.option<large>("lenet.classes", named("classes", [](large value) {
                            models::lenet({1, 28, 28}, value);
                        }));
    using cnn = models::residual_cnn<>::options;
    const cnn small{.blocks = 1, .width = 1, .input = {1, 8, 8}};
    for (const auto& [key, option] :
         {std::pair{"blocks", &cnn::blocks}, std::pair{"width", &cnn::width},
          std::pair{"classes", &cnn::classes}})
        tries.option<large>(std::string("residual_cnn.") + key,
                            named(key, [option = option, small](large value) {
                                models::residual_cnn(with(option, value, small));
                            }));
    using lstm = models::character_lstm<>::options;
    const lstm little{.width = 2, .hidden = 2, .layers = 1, .length = 3};
    tries.option<large>("character_lstm.vocabulary", named("vocabulary", [little](large value) {
                            models::character_lstm(value, little);
                        }));
    for (const auto& [key, option] :
         {std::pair{"width", &lstm::width}, std::pair{"hidden", &lstm::hidden},
          std::pair{"layers", &lstm::layers}, std::pair{"length", &lstm::length}})
        tries.option<large>(std::string("character_lstm.") + key,
                            named(key, [option = option, little](large value) {
                                models::character_lstm(5, with(option, value, little));
                            }));
    CHECK(tries.left_out().empty());
}

TEST_CASE("trainer: a wrong number -> refused by name") {
    testing::wrong_options tries({{"training_options.batch_size", "max"},
                                  {"fit.epochs", "0 max"},
                                  {"fit.steps", "0 max"},
                                  {"evaluate_on.every", "max"},
                                  {"early_stop.patience", "max"},
                                  {"early_stop.least_improvement", "0"},
                                  {"checkpoints.every_steps", "max"},
                                  {"checkpoints.every_epochs", "max"},
                                  {"checkpoints.keep", "max"},
                                  {"json_lines.every_steps", "max"},
                                  {"chrome_trace.first_step", "max"},
                                  {"chrome_trace.steps", "max"},
                                  {"html_report.every_seconds", "0"},
                                  {"html_report.every_epochs", "0 max"},
                                  {"html_report.reload_seconds", "0 max"},
                                  {"html_report.bytes_per_second", ""},
                                  {"html_report.latency_seconds", "0"}});
    using large = std::int64_t;
    tries.of(training_options{}, [](const training_options& changed) { changed.checked(); });
    tries.option<large>("fit.epochs", [](large value) { detail::training_length{epochs{value}}; });
    tries.option<large>("fit.steps", [](large value) { detail::training_length{steps{value}}; });
    const data::labelled_set set = images();
    tries.option<large>("evaluate_on.every", [&](large value) {
        const evaluate_on asked{set, value};
        const std::array arguments{
            detail::fit_argument_of(asked, [](void*, void*) { return evaluation{}; })};
        detail::fit_request(set.size(), false, detail::training_length{epochs{1}}, arguments);
    });
    tries.option<large>("early_stop.patience",
                        [](large value) { early_stop({.patience = value}); });
    tries.option<double>("early_stop.least_improvement",
                         [](double value) { early_stop({.least_improvement = value}); });
    tries.option<large>("checkpoints.every_steps",
                        [](large value) { checkpoints("x", {.every_steps = value}); });
    tries.option<large>("checkpoints.every_epochs",
                        [](large value) { checkpoints("x", {.every_epochs = value}); });
    tries.option<large>("checkpoints.keep", [](large value) { checkpoints("x", {.keep = value}); });
    const testing::scratch_folder folder("options_of_parts");
    tries.option<large>("json_lines.every_steps", [&](large value) {
        json_lines(folder.path() / "run.jsonl", {.every_steps = value});
    });
    tries.option<large>("chrome_trace.first_step",
                        [](large value) { chrome_trace("x", {.first_step = value}); });
    tries.option<large>("chrome_trace.steps",
                        [](large value) { chrome_trace("x", {.steps = value}); });
    tries.option<double>("html_report.every_seconds",
                         [](double value) { html_report("x", {.every_seconds = value}); });
    tries.option<large>("html_report.every_epochs",
                        [](large value) { html_report("x", {.every_epochs = value}); });
    tries.option<int>("html_report.reload_seconds",
                      [](int value) { html_report("x", {.report = {.reload_seconds = value}}); });
    for (const auto& [key, option] :
         {std::pair{"html_report.bytes_per_second", &network_link::bytes_per_second},
          std::pair{"html_report.latency_seconds", &network_link::latency_seconds}})
        tries.option<double>(key, [option = option](double value) {
            html_report("x", {.report = {.link = with(option, value)}});
        });
    CHECK(tries.left_out().empty());
}

TEST_CASE("advice: a wrong number -> refused by name") {
    testing::wrong_options tries({{"advise.compute_seconds", "0"},
                                  {"advise.world_size", "?max"},
                                  {"advise.bytes_per_second", ""},
                                  {"advise.latency_seconds", "0"},
                                  {"calibrate.rounds", ""},
                                  {"calibrate.epoch", "0"},
                                  {"calibrate.world_size", "?max"},
                                  {"measured.rounds", "?max"},
                                  {"measure_link.repetitions", "?max"},
                                  {"measure_link.small_bytes", "0"},
                                  {"measure_link.large_bytes", "?max"}});
    using large = std::int64_t;
    const std::vector<detail::way_to_send> ways{{.name = "whole", .dense = true}};
    tries.option<double>("advise.compute_seconds",
                         [&](double value) { (void)advise(value, network_link{}, 2, ways); });
    tries.option<int>("advise.world_size",
                      [&](int value) { (void)advise(1.0, network_link{}, value, ways); });
    for (const auto& [key, option] :
         {std::pair{"advise.bytes_per_second", &network_link::bytes_per_second},
          std::pair{"advise.latency_seconds", &network_link::latency_seconds}})
        tries.option<double>(key, [&, option = option](double value) {
            (void)advise(1.0, with(option, value), 2, ways);
        });
    const layout tensors = testing::small_layout();
    const detail::calibration_options one{.rounds = 1};
    tries.option<int>("calibrate.rounds", [&](int value) {
        (void)calibrate("x", none{}, tensors, 2, {.rounds = value});
    });
    tries.option<double>("calibrate.epoch", [&](double value) {
        (void)calibrate("x", none{}, tensors, 2,
                        with(&detail::calibration_options::epoch, value, one));
    });
    tries.option<int>("calibrate.world_size",
                      [&](int value) { (void)calibrate("x", none{}, tensors, value, one); });
    run_in_process(1, {}, [&](in_process& alone) {
        tries.option<large>("measured.rounds", [&](large value) {
            (void)collectives::fastest_all_reduce(alone, 4, value);
        });
    });
    const auto measured = [&](const char* key, auto option) {
        using number = std::remove_cvref_t<decltype(sotto::detail::link_measurement{}.*option)>;
        tries.option<number>(key, [option](number value) {
            run_in_process(2, {}, [&](in_process& rank) {
                (void)measure_link(rank, with(option, value, {.repetitions = 1}));
            });
        });
    };
    measured("measure_link.repetitions", &detail::link_measurement::repetitions);
    measured("measure_link.small_bytes", &detail::link_measurement::small_bytes);
    measured("measure_link.large_bytes", &detail::link_measurement::large_bytes);
    CHECK(tries.left_out().empty());
}

TEST_CASE("simulated networks: a wrong number -> refused by name") {
    testing::wrong_options tries({{"connection.out", ""},
                                  {"connection.in", ""},
                                  {"simulated_machine.flops", ""},
                                  {"simulated_machine.bytes", ""},
                                  {"uniform.low", "0"},
                                  {"uniform.high", ""},
                                  {"exponential.fixed", "0"},
                                  {"heavy_tailed.shape", ""},
                                  {"heavy_tailed.most", ""},
                                  {"one_slow.factor", ""},
                                  {"one_slow.rank", "0"},
                                  {"simulated_options.timeout", "max"},
                                  {"simulated_options.call", ""},
                                  {"simulated_options.heartbeat", ""},
                                  {"simulated_options.dead_after", "0"},
                                  {"simulated_options.budget", "max"},
                                  {"simulated_options.transfers", "0 max"},
                                  {"simulated_options.packet", ""}});
    const auto possible = [](const simulated_options& options) {
        detail::simulation::require_possible(options, 2);
    };
    const auto real = [&](const char* key, auto change) {
        tries.option<double>(key, [&](double value) {
            simulated_options options;
            change(options, value);
            possible(options);
        });
    };
    real("connection.out", [](auto& o, double value) { o.line.out = value; });
    real("connection.in", [](auto& o, double value) { o.line.in = value; });
    real("simulated_machine.flops", [](auto& o, double value) { o.machine.flops = value; });
    real("simulated_machine.bytes", [](auto& o, double value) { o.machine.bytes = value; });
    real("uniform.low", [](auto& o, double value) { o.slowness = speeds::uniform{.low = value}; });
    real("uniform.high",
         [](auto& o, double value) { o.slowness = speeds::uniform{.high = value}; });
    real("exponential.fixed",
         [](auto& o, double value) { o.slowness = speeds::exponential{.fixed = value}; });
    real("heavy_tailed.shape",
         [](auto& o, double value) { o.slowness = speeds::heavy_tailed{.shape = value}; });
    real("heavy_tailed.most",
         [](auto& o, double value) { o.slowness = speeds::heavy_tailed{.most = value}; });
    real("one_slow.factor",
         [](auto& o, double value) { o.slowness = speeds::one_slow{.factor = value}; });
    tries.option<int>("one_slow.rank",
                      [&](int value) { possible({.slowness = speeds::one_slow{.rank = value}}); });
    for (const auto& [key, option] :
         {std::pair{"simulated_options.budget", &simulated_options::budget},
          std::pair{"simulated_options.transfers", &simulated_options::transfers},
          std::pair{"simulated_options.packet", &simulated_options::packet}})
        tries.option<std::int64_t>(
            key, [&, option = option](std::int64_t value) { possible(with(option, value)); });
    for (const auto& [key, option] :
         {std::pair{"simulated_options.timeout", &simulated_options::timeout},
          std::pair{"simulated_options.call", &simulated_options::call},
          std::pair{"simulated_options.heartbeat", &simulated_options::heartbeat},
          std::pair{"simulated_options.dead_after", &simulated_options::dead_after}})
        tries.option<std::int64_t>(key, [&, option = option](std::int64_t value) {
            simulated_options options;
            options.*option = duration(value);
            possible(options);
        });
    CHECK(tries.left_out().empty());
}

TEST_CASE("transports: a wrong number -> refused by name") {
    testing::wrong_options tries({{"tcp_options.rank", "0"},
                                  {"tcp_options.size", ""},
                                  {"tcp_options.timeout", "max"},
                                  {"tcp_options.join", ""},
                                  {"tcp_options.handshake", ""},
                                  {"tcp_options.heartbeat", ""},
                                  {"tcp_options.dead_after", "0"},
                                  {"tcp_options.budget", "max"},
                                  {"tcp_options.transfers", "0 max"},
                                  {"packet_options.timeout", "max"},
                                  {"packet_options.budget", "max"},
                                  {"packet_options.transfers", "0 max"},
                                  {"in_process_hub.workers", "?max"},
                                  {"in_process_options.timeout", "max"},
                                  {"in_process_options.transfers", "0 max"}});
    const auto of = [&](const std::string& key, auto option, auto possible) {
        using value_type = std::remove_cvref_t<decltype(possible.options.*option)>;
        const auto attempt = [option, possible](value_type value) {
            auto changed = possible;
            changed.options.*option = value;
            changed();
        };
        if constexpr (std::is_same_v<value_type, duration>)
            tries.option<std::int64_t>(key,
                                       [attempt](std::int64_t value) { attempt(duration(value)); });
        else
            tries.option<value_type>(key, attempt);
    };
    struct over_tcp {
        tcp_options options{};
        void operator()() const { detail::net::require_possible(options); }
    };
    of("tcp_options.rank", &tcp_options::rank, over_tcp{});
    of("tcp_options.size", &tcp_options::size, over_tcp{});
    of("tcp_options.timeout", &tcp_options::timeout, over_tcp{});
    of("tcp_options.join", &tcp_options::join, over_tcp{});
    of("tcp_options.handshake", &tcp_options::handshake, over_tcp{});
    of("tcp_options.heartbeat", &tcp_options::heartbeat, over_tcp{});
    of("tcp_options.dead_after", &tcp_options::dead_after, over_tcp{});
    of("tcp_options.budget", &tcp_options::budget, over_tcp{});
    of("tcp_options.transfers", &tcp_options::transfers, over_tcp{});
    using detail::net::packet_options;
    struct in_packets {
        packet_options options{};
        void operator()() const { options.require_possible("mpi"); }
    };
    of("packet_options.timeout", &packet_options::timeout, in_packets{});
    of("packet_options.budget", &packet_options::budget, in_packets{});
    of("packet_options.transfers", &packet_options::transfers, in_packets{});
    tries.option<int>("in_process_hub.workers",
                      [](int value) { detail::in_process_hub(value, {}); });
    struct in_one_process {
        in_process_options options{};
        void operator()() const { detail::in_process_hub(2, options); }
    };
    of("in_process_options.timeout", &in_process_options::timeout, in_one_process{});
    of("in_process_options.transfers", &in_process_options::transfers, in_one_process{});
    CHECK(tries.left_out().empty());
}
