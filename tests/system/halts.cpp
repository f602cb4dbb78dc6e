// Whole jobs that are halted, as by Ctrl-Z, for longer than a call may block, and go on.

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sotto/core/clock.hpp"
#include "sotto/launch/local_processes.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/strategies/parameter_server.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "sotto/transports/tcp.hpp"
#include "support/folders.hpp"
#include "support/numbers.hpp"
#include "support/processes.hpp"

using namespace sotto;
using namespace sotto::testing;
using namespace std::chrono_literals;

namespace {

// A call may block for the first, is halted for the second, and waits for the third after that: a
// system call that was halted in its wait ends up to a second after the halt.
constexpr duration timeout = 4s, halt = 4500ms, at_work = 1200ms;

/// A pipe that one rank reads from in a step: the others wait for it until the test lets it go on.
class gate {
public:
    gate() { REQUIRE(::pipe(ends_.data()) == 0); }
    gate(const gate&) = delete;
    gate& operator=(const gate&) = delete;
    ~gate() {
        ::close(ends_[0]);
        ::close(ends_[1]);
    }

    void pass() const {
        char byte = 0;
        while (::read(ends_[0], &byte, 1) < 0 && errno == EINTR) {}
    }
    void open() const { REQUIRE(::write(ends_[1], "", 1) == 1); }

private:
    std::array<int, 2> ends_{};
};

/// Trains; rank 1 says when it stands at the gate.
template <class Strategy, class Transport>
std::int64_t train_through(const gate& at, Transport& transport, const Strategy& strategy,
                           const std::function<void()>& say) {
    number_model model;
    trainer trainer{model, strategy, transport, {.batch_size = 4}};
    const auto report = trainer.fit(numbered{96}, epochs{2}, [&](const step_report& step) {
        if (transport.rank() != 1 || step.step != 3) return;
        say();
        at.pass();
    });
    return report.steps;
}

void let_pass(duration time) {
    const auto whole = std::chrono::duration_cast<std::chrono::seconds>(time);
    const timespec left{static_cast<std::time_t>(whole.count()),
                        static_cast<long>(duration(time - whole).count())};
    ::nanosleep(&left, nullptr);
}

/// Halts all processes for longer than a call may block, once they wait. The gate opens later.
void halt_all(processes& job, std::size_t count, const gate& at) {
    for (std::size_t i = 0; i < count; ++i) job.wait_until_asleep(i);
    for (std::size_t i = 0; i < count; ++i) job.halt(i);
    let_pass(halt);
    for (std::size_t i = 0; i < count; ++i) job.signal(i, SIGCONT);
    let_pass(at_work);
    at.open();
}

template <class Strategy>
void check_in_process(const Strategy& strategy) {
    const gate at;
    processes job;
    job.start([&](auto say) {
        run_in_process(3, {.timeout = timeout}, [&](in_process& t) {
            const std::int64_t steps = train_through(at, t, strategy, [&] { say(true); });
            if (t.rank() == 0) say(steps);
        });
    });
    bool at_gate = false;
    std::int64_t steps = 0;
    REQUIRE(job.hear(0, at_gate));
    halt_all(job, 1, at);
    REQUIRE(job.hear(0, steps));
    CHECK(steps > 3);
    CHECK(job.wait(0) == 0);
}

template <class Strategy>
void check_over_tcp(const Strategy& strategy) {
    tcp_options options;
    options.size = 3;
    options.port = 0;
    options.timeout = timeout;
    auto first = std::make_unique<tcp::meeting>(options);
    options.port = first->port();
    const gate at;
    processes job;
    for (int rank = 0; rank < 3; ++rank)
        job.start([&, rank](auto say) {
            tcp_options own = options;
            own.rank = rank;
            if (rank != 0) first.reset();
            tcp t = rank == 0 ? first->join() : tcp::join(own);
            say(train_through(at, t, strategy, [&] { say(std::int64_t{0}); }));
        });
    first.reset();
    std::int64_t at_gate = 1;
    REQUIRE(job.hear(1, at_gate));
    REQUIRE(at_gate == 0);
    halt_all(job, 3, at);
    for (std::size_t rank = 0; rank < 3; ++rank) {
        CAPTURE(rank);
        std::int64_t steps = 0;
        REQUIRE(job.hear(rank, steps));
        CHECK(steps > 3);
        CHECK(job.wait(rank) == 0);
    }
}

constexpr sgd plain{.learning_rate = 0.125};

}  // namespace

TEST_CASE("launch::run: halt while ranks may end by themselves -> they may afterwards") {
    const scratch_folder folder("halts");
    const std::filesystem::path go = folder.path() / "go";
    REQUIRE(::mkfifo(go.c_str(), 0600) == 0);
    // Rank 0 fails at once. Rank 1 ends well once it is let go, and otherwise by SIGTERM.
    const std::string script =
        "test $SOTTO_RANK = 0 && exit 3; trap 'echo terminated; exit 9' TERM; read line < '" +
        go.string() + "'; echo went well";
    std::array<int, 2> said{};
    REQUIRE(::pipe(said.data()) == 0);
    processes launcher;
    launcher.start([&](auto) {
        ::close(said[0]);
        (void)launch::run({.size = 2,
                           .command = {"/bin/sh", "-c", script},
                           .grace = {.until_terminate = timeout},
                           .out = said[1],
                           .err = said[1]});
    });
    ::close(said[1]);
    std::string text;
    const auto read_more = [&] {
        char piece[256];
        const ssize_t count = ::read(said[0], piece, sizeof piece);
        if (count > 0) text.append(piece, static_cast<std::size_t>(count));
        return count > 0;
    };
    while (text.find("SIGTERM in") == text.npos) REQUIRE(read_more());
    launcher.halt(0);
    let_pass(halt);
    launcher.signal(0, SIGCONT);
    let_pass(at_work);
    std::ofstream(go) << "\n";
    while (read_more()) {}
    ::close(said[0]);
    CAPTURE(text);
    CHECK(text.find("[1] went well") != text.npos);
    CHECK(text.find("terminated") == text.npos);
    CHECK(launcher.wait(0) == 0);
}

TEST_CASE("halt of ranks in one process for longer than timeout -> all_reduce goes on") {
    check_in_process(all_reduce{plain});
}

TEST_CASE("halt of ranks in one process for longer than timeout -> parameter_server goes on") {
    check_in_process(parameter_server{plain});
}

TEST_CASE("halt of all processes for longer than timeout -> all_reduce over TCP goes on") {
    check_over_tcp(all_reduce{plain});
}

TEST_CASE("halt of all processes for longer than timeout -> parameter_server over TCP goes on") {
    check_over_tcp(parameter_server{plain});
}
