#include "sotto/report/detail/sections/report_advice.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include "sotto/report/calibrated_advice.hpp"
#include "sotto/report/detail/charts/report_style.hpp"
#include "support/made_up_run.hpp"

using namespace sotto;
using testing::fault_of, testing::has, testing::made_up, testing::page;

namespace {

/// A file of this name that is gone with the object.
struct scratch_file {
    std::filesystem::path path = std::filesystem::temp_directory_path() /
                                 ("sotto_report_advice_" + std::to_string(::getpid()) + ".html");
    ~scratch_file() { std::filesystem::remove(path); }
    std::string text() const {
        std::ifstream in(path, std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }
};

}  // namespace

TEST_CASE("predictions come from what the runs measured") {
    const std::vector<run_log> runs{made_up("dense", 40, 1.0, 0.9), made_up("run", 40, 0.05, 0.9)};
    const network_link link{.bytes_per_second = 1e5, .latency_seconds = 0.001};
    const auto found = sotto::detail::reporting::advice_from(runs, link);
    REQUIRE(found);
    CHECK(found->compute_seconds / 0.006 == doctest::Approx(1.0));
    // 4000 bytes and 40 are summed by recursive doubling, in two messages each; 200 bytes go
    // straight to everyone. The vote that ends a round takes two.
    CHECK(1e3 * found->steps[0].step_seconds == doctest::Approx(6 + 60.6 + (2 + 2) * 1));
    CHECK(1e3 * found->steps[1].step_seconds == doctest::Approx(7 + 7.2 + (2 + 2) * 1));
    CHECK(found->steps[0].way.run == 0);
    CHECK(found->steps[1].way.run == 1);
    // Alone, it is compared with what the cost model says of whole gradients.
    const auto alone = sotto::detail::reporting::advice_from(std::span(runs).last(1), link);
    REQUIRE(alone);
    CHECK(alone->steps[0].way.name == "whole gradients");
    CHECK(alone->steps[0].way.transfer.bytes ==
          doctest::Approx(all_reduce_cost(1000, 4).bytes + all_reduce_cost(10, 4).bytes));
    CHECK(alone->steps[0].way.run == -1);
    CHECK_FALSE(sotto::detail::reporting::advice_from(std::span(runs).first(1), link));
}

TEST_CASE("messages that wait for each other are those of the collectives that carry them") {
    const auto messages = [](std::vector<detail::run_tensor> tensors, double share,
                             double densest = 0.0, const char* every = "1") {
        run_log log;
        log.begin({.world_size = 8,
                   .options = {{"strategy.local.every", every}},
                   .tensors = std::move(tensors)});
        const auto step = [&](std::int64_t number, double part) {
            std::vector<std::int64_t> bytes;
            double dense = 0.0, message = 0.0;
            for (const detail::run_tensor& t : log.about.tensors) {
                const bool whole = t.shape.size() < 2;
                bytes.push_back(static_cast<std::int64_t>(static_cast<double>(4 * t.size) *
                                                          (whole ? 1.0 : part)));
                dense += 4.0 * static_cast<double>(t.size);
                message += static_cast<double>(bytes.back());
            }
            log.add(run_log::step{.number = number,
                                  .epoch = static_cast<double>(number - 1),
                                  .costs = {.dense_bytes = dense, .message_bytes = message},
                                  .tensor_message_bytes = bytes});
            log.add(
                run_log::finished_epoch{.epoch = number,
                                        .step = number,
                                        .costs = {.dense_bytes = dense, .message_bytes = message}});
        };
        if (densest > 0.0) step(1, densest);
        step(log.last_step + 1, share);
        return sotto::detail::reporting::messages_of(log);
    };
    const detail::run_tensor large{.name = "w", .shape = {1000, 1000}, .size = 1'000'000};
    const detail::run_tensor middle{.name = "w", .shape = {100, 1000}, .size = 100'000};
    const detail::run_tensor bias{.name = "b", .shape = {100}, .size = 100};
    CHECK(messages({large}, 1.0) == 14.0);           // a ring of eight
    CHECK(messages({middle}, 1.0) == 6.0);           // halves, quarters, eighths
    CHECK(messages({large}, 0.5) == 14.0);           // fp16 is summed, too
    CHECK(messages({middle}, 0.01) == 1.0);          // straight to everyone
    CHECK(messages({middle, bias}, 0.01) == 3.0);    // the bias by recursive doubling
    CHECK(messages({large}, 0.01) == 7.0);           // around a ring
    CHECK(messages({middle}, 0.01, 0.25) == 7.0);    // the ring that its warm-up needed
    CHECK(messages({large}, 1.0, 0.0, "7") == 2.0);  // in one step of seven
}

TEST_CASE("where there is nothing to compare, a report says why") {
    run_log dense = made_up("dense", 40, 1.0, 0.9);
    CHECK(has(page({dense}), "There is nothing to compare: only whole gradients were sent."));
    // 1.5 * 4040 bytes at 100 kB/s, and two messages and a vote of 1 ms; computing takes 6 ms.
    CHECK(has(page({dense}, {.link = network_link{1e5, 0.001}}),
              "Over this link, 800\u202fkbit/s, whole gradients take 64.6\u202fms of a step of "
              "70.6\u202fms."));
    run_log begun;
    begun.begin({.world_size = 4});
    CHECK(has(page({begun}), "There is nothing to compare yet"));
    dense.about.world_size = 1;
    CHECK(has(page({dense}), "one worker has nobody to send gradients to"));
}

TEST_CASE("a report can try compressors out on the tensors of its runs") {
    const run_log dense = made_up("dense", 40, 1.0, 0.9);
    const auto found = calibrated_advice(dense, {1e5, 0.001}, {.rounds = 1});
    REQUIRE(found);
    CHECK(found->world_size == 4);
    CHECK(found->steps.size() == 8);
    CHECK(found->compute_seconds == doctest::Approx(0.006));
    CHECK(found->steps[0].way.message_bytes == 4040.0);
    run_log alone = dense;
    alone.about.world_size = 1;
    CHECK_FALSE(calibrated_advice(alone, {}));

    const scratch_file file;
    write_report(dense, file.path, {.link = network_link{1e5, 0.001}, .calibrate = true});
    CHECK(has(file.text(), "from compressors measured on this machine"));
    CHECK(has(file.text(), "this link"));
    CHECK(has(file.text(), "class=\"l cg0\""));  // of no run of the page: grey
    CHECK(fault_of(file.text()) == "");
    write_report(dense, file.path, {.calibrate = true});
    CHECK(has(file.text(), "from compressors measured on this machine"));
    CHECK(has(file.text(), "No link was given or measured"));
    write_report(alone, file.path, {.calibrate = true});
    CHECK(has(file.text(), "one worker has nobody to send gradients to"));
}

TEST_CASE("lines of the crossover have the colours of their runs; what is modelled is grey") {
    const std::vector<run_log> runs{made_up("a", 40, 0.05, 0.9), made_up("b", 40, 0.2, 0.9)};
    const auto found = sotto::detail::reporting::advice_from(runs, {});
    REQUIRE(found);
    const std::string chart = sotto::detail::reporting::crossover_chart(*found, false);
    // Whole gradients are modelled, and drawn first; each line's class is its run's number.
    CHECK(has(chart, "class=\"l cg0\""));
    CHECK(has(chart, "class=\"l c0\""));
    CHECK(has(chart, "class=\"l c1\""));
    const auto name_of = [&](const std::string& kind) {
        const std::size_t at = chart.find("<text class=\"n c" + kind + "\"");
        const std::size_t from = chart.find('>', at) + 1;
        return at == std::string::npos ? "" : chart.substr(from, chart.find('<', from) - from);
    };
    CHECK(name_of("g0") == "whole gradients");
    CHECK(name_of("0") == "a");
    CHECK(name_of("1") == "b");
    CHECK(has(sotto::detail::reporting::style(), ".l.cg0{stroke:var(--soft)"));
}
