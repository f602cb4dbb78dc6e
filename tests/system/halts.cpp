// Whole jobs that are halted, as by Ctrl-Z, for longer than a call may block, and go on.

#include <doctest/doctest.h>
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
#include <functional>
#include <memory>
#include <vector>

#include "sotto/core/clock.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/strategies/parameter_server.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "sotto/transports/tcp.hpp"
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
