#include <doctest/doctest.h>
#include <sys/wait.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <vector>

#include "sotto/consistency/asynchronous.hpp"
#include "sotto/consistency/bulk_synchronous.hpp"
#include "sotto/consistency/stale_synchronous.hpp"
#include "sotto/core/random.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/staleness/delay_compensation_adaptive.hpp"
#include "sotto/strategies/parameter_server.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/tcp.hpp"
#include "sotto/wire/frame.hpp"
#include "support/numbers.hpp"
#include "support/processes.hpp"

using namespace sotto;
using namespace sotto::testing;

namespace {

/// What a survivor saw.
struct ending {
    std::array<bool, 8> lost{};  // ranks
    std::uint64_t digest = 0;    // of its parameters
    std::uint64_t steps = 0;     // of the server
};

constexpr std::int64_t rounds = 60;

/// Trains as one rank of a job; `at(step)` is called after each step of its own.
template <class Consistency, class At>
ending train(tcp& through, const Consistency& consistency, At at) {
    const parameter_server strategy{sgd{.learning_rate = 0.01}, consistency,
                                    delay_compensation_adaptive{}, none{},
                                    serving{.dedicated = true, .survives = true, .patience = 5.0}};
    number_model model;
    model.pull = 0.25f;
    trainer trainer{model, strategy, through, {.batch_size = 4, .seed = 1}};
    const auto workers = static_cast<std::int64_t>(through.size()) - 1;
    trainer.fit(numbered{4 * workers * rounds}, epochs{1},
                [&](const step_report& step) { at(step.step); });
    ending end;
    for (const rank_change& change : trainer.state().losses())
        end.lost[static_cast<std::size_t>(change.rank)] = true;
    end.digest = wire::frame_digest(std::as_bytes(trainer.parameters()), 0);
    if (const auto* const server = trainer.state().server()) end.steps = server->version();
    return end;
}

/// Kills some workers of a job of 5 ranks, each after some steps of its own.
template <class Consistency>
void kill_some(const Consistency& consistency, std::span<const int> victims, random_stream random) {
    constexpr int size = 5;
    tcp_options options;
    options.size = size;
    options.port = 0;
    auto first = std::make_unique<tcp::meeting>(options);
    options.port = first->port();
    processes ranks;
    std::array<std::int64_t, size> dies_after{};
    for (const int victim : victims)
        dies_after[static_cast<std::size_t>(victim)] =
            1 + static_cast<std::int64_t>(random.below(rounds - 1));
    for (int rank = 0; rank < size; ++rank)
        ranks.start([&, rank](auto say) {
            tcp_options own = options;
            own.rank = rank;
            if (rank != 0) first.reset();
            tcp endpoint = rank == 0 ? first->join() : tcp::join(own);
            const std::int64_t last = dies_after[static_cast<std::size_t>(rank)];
            say(train(endpoint, consistency, [&](std::int64_t step) {
                if (step == last) ::raise(SIGKILL);
            }));
        });
    first.reset();
    std::uint64_t digest = 0;
    for (int rank = 0; rank < size; ++rank) {
        CAPTURE(rank);
        const auto which = static_cast<std::size_t>(rank);
        ending end;
        if (dies_after[which] > 0) {
            CHECK_FALSE(ranks.hear(which, end));
            CHECK(WIFSIGNALED(ranks.wait(which)));
            continue;
        }
        REQUIRE(ranks.hear(which, end));
        for (int other = 0; other < size; ++other) {
            const bool lost = end.lost[static_cast<std::size_t>(other)];
            const bool died = dies_after[static_cast<std::size_t>(other)] > 0;
            // A worker may have ended before it heard of all that the server had.
            CHECK((rank == 0 ? lost == died : died || !lost));
        }
        if (rank == 0) digest = end.digest;
        CHECK(end.digest == digest);  // all have what the server has
        if (rank == 0) CHECK(end.steps > 0);
        const int status = ranks.wait(which);
        CHECK(WIFEXITED(status));
        CHECK(WEXITSTATUS(status) == 0);
    }
}

}  // namespace

TEST_CASE("workers that are killed are named, and the others train to the end") {
    random_stream random(5);
    for (int trial = 0; trial < 3; ++trial) {
        const int one[] = {1 + static_cast<int>(random.below(4))};
        const int half[] = {2, 3};
        for (const std::span<const int> victims : {std::span<const int>(one), {half}}) {
            CAPTURE(trial);
            CAPTURE(victims.size());
            kill_some(asynchronous{}, victims, random.split("asynchronous"));
            kill_some(stale_synchronous{.bound = 2}, victims, random.split("stale"));
            kill_some(bulk_synchronous{}, victims, random.split("bulk"));
        }
    }
}
