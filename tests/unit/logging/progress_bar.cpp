#include "sotto/logging/progress_bar.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "support/decimal_comma.hpp"
#include "support/taught_run.hpp"

using namespace sotto;

namespace {

/// What a progress bar wrote to a file, which is no terminal.
template <class F>
std::string written(F tell) {
    struct closer {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    const std::unique_ptr<std::FILE, closer> file(std::tmpfile());
    REQUIRE(file);
    progress_bar bar(file.get());
    tell(bar);
    std::rewind(file.get());
    std::string text(4096, '\0');
    text.resize(std::fread(text.data(), 1, text.size(), file.get()));
    return text;
}

constexpr epoch_report first_epoch{
    .epoch = 1,
    .step = 10,
    .seconds = 2.0,
    .loss = 1.5,
    .total = {.dense_bytes = 4096, .message_bytes = 1024, .bytes_sent = 3072}};

}  // namespace

TEST_CASE("without a terminal only the lines that stay are written") {
    const std::string text = written([](progress_bar& bar) {
        bar.on_begin({.epochs = 12, .steps_max = 1000, .steps_an_epoch = 10});
        for (std::int64_t step = 1; step <= 10; ++step)
            bar.on_step({.step = step, .seconds = static_cast<double>(step)});
        bar.on_epoch(first_epoch);
        epoch_report second = first_epoch;
        second.epoch = 2;
        second.evaluated = evaluation{.loss = 0.25, .accuracy = 0.9375};
        bar.on_epoch(second);
        second.evaluated->own = detail::own_evaluations{.accuracy = {0.875, 0.9, 0.92}};
        bar.on_epoch(second);
        second.evaluated->own.reset();
        second.evaluated->accuracy = std::numeric_limits<double>::quiet_NaN();  // without labels
        bar.on_epoch(second);
    });
    CHECK(text ==
          "epoch  1/12  loss 1.5000  sent 3.0 KiB (gradient / 4.0)  2.0 s\n"
          "epoch  2/12  loss 1.5000  test loss 0.2500  accuracy 93.75 %  sent 3.0 KiB "
          "(gradient / 4.0)  2.0 s\n"
          "epoch  2/12  loss 1.5000  test loss 0.2500  accuracy 93.75 % (own models 87.50 to 92.00 "
          "%)  sent 3.0 KiB (gradient / 4.0)  2.0 s\n"
          "epoch  2/12  loss 1.5000  test loss 0.2500  sent 3.0 KiB (gradient / 4.0)  2.0 s\n");
}

TEST_CASE("a run bounded by steps shows no number of epochs") {
    constexpr auto unbounded = std::numeric_limits<std::int64_t>::max();
    const std::string text = written([](progress_bar& bar) {
        bar.on_begin({.epochs = unbounded, .steps_max = 25, .steps_an_epoch = 10});
        bar.on_epoch(first_epoch);
    });
    CHECK(text == "epoch  1  loss 1.5000  sent 3.0 KiB (gradient / 4.0)  2.0 s\n");
}

TEST_CASE("a second call of fit goes on counting") {
    const std::string text = written([](progress_bar& bar) {
        bar.on_begin({.epochs = 3, .steps_an_epoch = 10, .epochs_before = 2, .steps_before = 20});
        epoch_report third = first_epoch;
        third.epoch = 3;
        bar.on_epoch(third);
    });
    CHECK(text.starts_with("epoch  3/5 "));
}

TEST_CASE("a run that was resumed says where it goes on, or that it is over") {
    const auto said = [](const run_info& info) {
        return written([&](progress_bar& bar) { bar.on_begin(info); });
    };
    run_info info{.epochs = 3, .steps_max = 9, .steps_an_epoch = 10, .steps_before = 20};
    CHECK(said(info).empty());
    info.resumed = true;
    info.world_size_before = 1;
    CHECK(said(info) == "goes on after step 20\n");
    info.begins_anew = true;
    CHECK(said(info) ==
          "goes on after step 20, with a new epoch: the one that was under way was "
          "of other data\n");
    info.begins_anew = false;
    info.world_size = 4;
    CHECK(said(info) == "goes on after step 20, with 4 workers instead of 1\n");
    info.over = true;
    CHECK(said(info) == "nothing left to do after step 20\n");
    info.rank = 1;
    CHECK(said(info).empty());
}

TEST_CASE("what the rest of an interrupted epoch took is told as that") {
    const std::string text = written([](progress_bar& bar) {
        bar.on_begin({.epochs = 3,
                      .steps_an_epoch = 10,
                      .rounds_before = 4,
                      .steps_before = 4,
                      .resumed = true,
                      .world_size_before = 1});
        bar.on_epoch(first_epoch);
        bar.on_epoch(first_epoch);
    });
    CHECK(text ==
          "goes on after step 4\n"
          "epoch  1/3  loss 1.5000  sent 3.0 KiB (gradient / 4.0)  2.0 s, after step 4\n"
          "epoch  1/3  loss 1.5000  sent 3.0 KiB (gradient / 4.0)  2.0 s\n");
}

TEST_CASE("a loss that runs away keeps the columns") {
    const std::string text = written([](progress_bar& bar) {
        bar.on_begin({.epochs = 1, .steps_an_epoch = 10});
        epoch_report wild = first_epoch;
        wild.loss = 1.23456e9;
        wild.evaluated = evaluation{.loss = 9999.5};
        bar.on_epoch(wild);
    });
    CHECK(text.starts_with("epoch  1/1  loss 1.235e+09  test loss 9999.5000  "));
}

namespace {

/// A terminal of so many columns, and what was written to it.
class terminal {
public:
    explicit terminal(int columns) : master_(::posix_openpt(O_RDWR | O_NOCTTY)), out_(nullptr) {
        if (master_ < 0 || ::grantpt(master_) != 0 || ::unlockpt(master_) != 0) return;
        resize(columns);
        out_ = std::fopen(::ptsname(master_), "w");
        REQUIRE(out_ != nullptr);
    }
    terminal(const terminal&) = delete;
    terminal& operator=(const terminal&) = delete;
    ~terminal() {
        if (out_ != nullptr) std::fclose(out_);
        if (master_ >= 0) ::close(master_);
    }

    std::FILE* out() const {
        if (out_ == nullptr) MESSAGE("skipped: there is no pseudo-terminal");
        return out_;
    }
    void resize(int columns) const {
        ::winsize size{};
        size.ws_col = static_cast<unsigned short>(columns);
        REQUIRE(::ioctl(master_, TIOCSWINSZ, &size) == 0);
    }

    /// All that was written up to the end of a line.
    std::string line() const {
        std::string text;
        while (!text.ends_with('\n')) {  // a terminal hands over what it has got so far
            char part[256];
            const auto length = ::read(master_, part, sizeof part);
            REQUIRE(length > 0);
            text.append(part, static_cast<std::size_t>(length));
        }
        return text;
    }

private:
    int master_;
    std::FILE* out_;
};

constexpr const char* epoch_line =
    "\r\033[Kepoch  1/2  loss 1.5000  sent 3.0 KiB (gradient / 4.0)  2.0 s\r\n";

}  // namespace

TEST_CASE("on a terminal one line is redrawn, ten times a second, until an epoch's line") {
    const terminal wide(100);
    if (wide.out() == nullptr) return;
    progress_bar bar(wide.out());
    bar.on_begin({.epochs = 2, .steps_max = 1000, .steps_an_epoch = 10});
    bar.on_step({.step = 1, .seconds = 1.0, .round = {.loss = 0.5, .examples = 4}});
    bar.on_step({.step = 2, .seconds = 1.05});  // too soon
    bar.on_step({.step = 19, .seconds = 2.0, .round = {.loss = 2e4}});
    bar.on_epoch(first_epoch);
    CHECK(wide.line() ==
          std::string("\r\033[K[#                       ]   5 %  loss 0.5000  4 examples/s  0 B a "
                      "step  19 s left"
                      "\r\033[K[####################### ]  95 %  loss 2e+04  0 examples/s  0 B a "
                      "step  <1 s left") +
              epoch_line);
    CHECK(bar.incomplete().empty());
}

TEST_CASE("progress_bar: a narrow terminal -> one row, as wide as it is now") {
    const terminal narrow(80);
    if (narrow.out() == nullptr) return;
    progress_bar bar(narrow.out());
    bar.on_begin({.epochs = 2, .steps_max = 1000, .steps_an_epoch = 10});
    double seconds = 1.0;
    const step_report report{.step = 10, .round = {.loss = 0.5, .examples = 400, .bytes_sent = 99}};
    const auto redraw = [&] {
        step_report now = report;
        now.seconds = seconds++;
        bar.on_step(now);
    };
    redraw();
    for (const int columns : {68, 61, 20, 1}) {
        narrow.resize(columns);
        redraw();
    }
    narrow.resize(0);  // a terminal that reports nothing has 80
    redraw();
    bar.on_epoch(first_epoch);
    CHECK(narrow.line() ==
          std::string(
              "\r\033[K[#########         ]  50 %  loss 0.5000  4.0k examples/s  99 B a step  "
              "1 s left"
              "\r\033[K[###   ]  50 %  loss 0.5000  2.0k examples/s  99 B a step  2 s left"
              "\r\033[K  50 %  loss 0.5000  1.3k examples/s  99 B a step  3 s left"
              "\r\033[K  50 %  loss 0.5000"
              "\r\033[K"
              "\r\033[K[##########         ]  50 %  loss 0.5000  667 examples/s  99 B a step  "
              "6 s left") +
              epoch_line);
}

TEST_CASE("progress_bar: no finite loss, a decimal comma -> nan, points") {
    const testing::decimal_comma locale;
    const std::string text = written([](progress_bar& bar) {
        bar.on_begin({.epochs = 1, .steps_an_epoch = 10});
        epoch_report report = first_epoch;
        report.loss = -std::numeric_limits<double>::quiet_NaN();
        bar.on_epoch(report);
        report.loss = 1234.5;
        report.evaluated = evaluation{.loss = 0.25, .accuracy = 0.5};
        bar.on_epoch(report);
    });
    CHECK(text ==
          "epoch  1/1  loss nan  sent 3.0 KiB (gradient / 4.0)  2.0 s\n"
          "epoch  1/1  loss 1234.5000  test loss 0.2500  accuracy 50.00 %  sent 3.0 KiB "
          "(gradient / 4.0)  2.0 s\n");
}

TEST_CASE("progress_bar: a cause from another rank -> no line of its own") {
    const std::string text = written([](progress_bar& bar) {
        bar.on_begin({.epochs = 1, .steps_an_epoch = 10});
        fit_report report;
        report.losses.push_back({.rank = 1, .cause = "ok\nrank 9 went: lies\x1b[2J"});
        bar.on_end(report);
    });
    CHECK(text == "rank 1 went: ok\\nrank 9 went: lies\\x1b[2J\n");
}

TEST_CASE("progress_bar: its output is full -> incomplete") {
    if (!std::filesystem::exists("/dev/full")) {
        MESSAGE("skipped: there is no /dev/full");
        return;
    }
    std::FILE* const full = std::fopen("/dev/full", "w");
    REQUIRE(full != nullptr);
    progress_bar bar(full);
    bar.on_begin({.epochs = 1, .steps_an_epoch = 10});
    CHECK(bar.incomplete().empty());
    bar.on_epoch(first_epoch);
    CHECK(bar.incomplete() == "progress_bar: its output cannot be written");
    std::fclose(full);
}

TEST_CASE("where the first rank only serves, the first worker shows how it is doing") {
    const std::string options =
        "strategy.servers = serving\nstrategy.servers.servers = 1\n"
        "strategy.servers.dedicated = true\n";
    const auto told_by = [&](int rank) {
        return written([&](progress_bar& bar) {
            bar.on_begin({.rank = rank, .world_size = 4, .epochs = 1, .description = options});
            if (rank != 0) bar.on_epoch(first_epoch);
        });
    };
    CHECK(told_by(0) == "progress is shown on rank 1, the first worker\n");
    CHECK(told_by(1) == "epoch  1/1  loss 1.5000  sent 3.0 KiB (gradient / 4.0)  2.0 s\n");
    CHECK(told_by(2).empty());
}

TEST_CASE("a worker that comes again says after which of its steps it goes on") {
    CHECK(written([](progress_bar& bar) { bar.on_begin({.steps_at_servers = 7, .epochs = 1}); }) ==
          "goes on after step 7, which the servers have\n");
}

TEST_CASE("a rank of gossip that comes again does not speak of servers") {
    CHECK(written([](progress_bar& bar) {
              bar.on_begin({.steps_at_servers = 7,
                            .epochs = 1,
                            .mixing = sotto::detail::topologies::mixing_graph{}});
          }) == "goes on after step 7, with a neighbour's parameters\n");
}

TEST_CASE("who sends more than gradients is told how many times as much") {
    epoch_report more = first_epoch;
    more.total.message_bytes = 4096 * 39 / 10;
    epoch_report none = first_epoch;
    none.total.message_bytes = 0;
    const std::string text = written([&](progress_bar& bar) {
        bar.on_begin({.epochs = 2, .steps_an_epoch = 10});
        bar.on_epoch(more);
        bar.on_epoch(none);
    });
    CHECK(text ==
          "epoch  1/2  loss 1.5000  sent 3.0 KiB (3.9 x the gradient)  2.0 s\n"
          "epoch  1/2  loss 1.5000  sent 3.0 KiB (no message)  2.0 s\n");
}

TEST_CASE("mixing that misses its target at the limit of its rounds is told in the end") {
    const auto told = [](bool missed) {
        return written([&](progress_bar& bar) {
            bar.on_begin({.epochs = 1, .steps_an_epoch = 3});
            for (std::int64_t step = 1; step <= 3; ++step)
                bar.on_step(
                    {.step = step,
                     .round = {.consensus = {
                                   .rounds = 64, .target = 0.5, .missed = missed && step > 1}}});
            bar.on_end({});
        });
    };
    CHECK(told(true) ==
          "mixing reached its limit of rounds in 2 of 3 steps, and missed its target: "
          "ranks were further apart\n");
    CHECK(told(false).empty());
}

TEST_CASE("a rank that went is told with its step, and with that of its return") {
    const std::string text = written([](progress_bar& bar) {
        bar.on_begin({.epochs = 1, .steps_an_epoch = 3});
        fit_report report;
        report.losses = {
            {.rank = 2, .cause = "it closed the connection"},
            {.rank = 3, .cause = "x", .step = 310, .seconds = 12.34, .again_step = 420}};
        bar.on_end(report);
    });
    CHECK(text ==
          "rank 2 went: it closed the connection\n"
          "rank 3 went after step 310 (12.3 s): x; it was there again after step 420\n");
}

TEST_CASE("other ranks than the first stay silent") {
    CHECK(written([](progress_bar& bar) {
              bar.on_begin({.rank = 1, .epochs = 1});
              bar.on_step({.step = 1, .seconds = 1.0});
              bar.on_epoch(first_epoch);
          }) == "");
}

TEST_CASE("teachers are told of when they are heard and left out, in an epoch's line and at last") {
    const std::string text = written([](progress_bar& bar) {
        bar.on_begin({.world_size = 6,
                      .epochs = 2,
                      .steps_an_epoch = 300,
                      .model = "group-0",
                      .model_rank = 0,
                      .model_ranks = 2});
        testing::two_teachers teachers;
        for (std::int64_t s = 1; s <= 600; ++s) {
            bar.on_step({.step = s, .round = {.taught = teachers.at(s)}});
            if (s % 300 == 0) {
                epoch_report epoch = first_epoch;
                epoch.epoch = s / 300;
                bar.on_epoch(epoch);
            }
        }
        bar.on_end({.step = 600});
    });
    CHECK(text ==
          "several models are trained: this is group-0, by 2 ranks\n"
          "group 1 is heard from step 51 on, by its model of step 50\n"
          "group 2 is heard from step 51 on, by its model of step 50\n"
          "epoch  1/2  loss 1.5000  agrees with teachers 84.4 %  sent 3.0 KiB (gradient / 4.0)  "
          "2.0 s\n"
          "group 2 is left out from step 401 on: not finite\n"
          "group 2 is heard again from step 451 on, by its model of step 450\n"
          "epoch  2/2  loss 1.5000  agrees with teachers 90.8 %  sent 3.0 KiB (gradient / 4.0)  "
          "2.0 s\n"
          "Group 1's models were heard in all 550 steps since step 51, on average 24.5 steps old. "
          "Group 2's models were heard in 91 % of them, on average 24.5 steps old, and left out at "
          "steps 401 to 450: not finite.\n");
}

TEST_CASE("that no model can be published is told when it begins, changes and ends") {
    const std::string text = written([](progress_bar& bar) {
        bar.on_begin({.epochs = 1});
        for (std::int64_t s = 1; s <= 300; ++s)
            bar.on_step({.step = s,
                         .round = {.taught = {.problem = s < 100   ? ""
                                                         : s < 150 ? "the disk is full"
                                                         : s < 200 ? "the disk is gone"
                                                                   : ""}}});
        bar.on_end({.step = 300});
    });
    CHECK(text ==
          "no model is published from step 100 on: the disk is full\n"
          "no model is published from step 150 on: the disk is gone\n"
          "models are published again from step 200 on\n"
          "No other model was heard: there was none yet.\n"
          "None was published for a time, until step 200: the disk is gone.\n");
}

TEST_CASE("a teacher that comes and goes does not fill the screen") {
    const std::string text = written([](progress_bar& bar) {
        bar.on_begin({.epochs = 1});
        std::array<detail::teacher_status, 1> standings{
            detail::teacher_status{.group = 1, .step = 0}};
        for (std::int64_t s = 1; s <= 1000; ++s) {
            standings[0].why = s % 2 == 0 ? detail::left_out::worse : detail::left_out::no;
            bar.on_step(
                {.step = s,
                 .round = {.taught = {.teachers = s % 2 == 0 ? 0 : 1, .standings = standings}}});
        }
    });
    std::size_t lines = 0;
    for (const char c : text) lines += c == '\n';
    CHECK(lines == 21);
    CHECK(
        text.starts_with("group 1 is heard from step 1 on, by its model of step 0\n"
                         "group 1 is left out from step 2 on: worse\n"
                         "group 1 is heard again from step 3 on, by its model of step 0\n"));
    CHECK(text.ends_with("step 20 on: worse\nfurther changes of teachers are not told\n"));
}

TEST_CASE("other ranks tell of no teachers") {
    testing::two_teachers teachers;
    CHECK(written([&](progress_bar& bar) {
              bar.on_begin({.rank = 2,
                            .world_size = 6,
                            .epochs = 1,
                            .model = "group-1",
                            .model_rank = 0,
                            .model_ranks = 2});
              bar.on_step({.step = 51, .round = {.taught = teachers.at(51)}});
              bar.on_end({.step = 51});
          }) == "");
}
