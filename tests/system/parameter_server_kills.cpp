#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <vector>

#include "sotto/strategies/parameter_server/consistency/asynchronous.hpp"
#include "sotto/strategies/parameter_server/consistency/bulk_synchronous.hpp"
#include "sotto/strategies/parameter_server/consistency/stale_synchronous.hpp"
#include "sotto/core/random.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/staleness/delay_compensation_adaptive.hpp"
#include "sotto/strategies/parameter_server.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/tcp.hpp"
#include "sotto/wire/detail/protocols/frame.hpp"
#include "support/folders.hpp"
#include "support/numbers.hpp"
#include "support/processes.hpp"

using namespace sotto;
using namespace sotto::testing;

namespace {

/// What a rank that lived to the end saw.
struct ending {
    std::array<bool, 8> lost{};  // ranks
    std::uint64_t digest = 0;    // of its parameters
    std::uint64_t steps = 0;     // of the server
    std::int64_t rounds = 0;     // its own, of this process
};

constexpr int size = 5;
constexpr std::int64_t rounds = 60;

/// Trains as one rank of a job; `at(step)` is called after each step of its own.
template <class Consistency, class At>
ending train(tcp& through, const Consistency& consistency, const std::filesystem::path& folder,
             At at) {
    const parameter_server strategy{sgd{.learning_rate = 0.01}, consistency,
                                    delay_compensation_adaptive{}, none{},
                                    serving{.dedicated = true,
                                            .survives = true,
                                            .patience = 20.0,
                                            .checkpoints = folder,
                                            .every = 5}};
    number_model model;
    model.pull = 0.25f;
    trainer trainer{model, strategy, through, {.batch_size = 4, .seed = 1}};
    ending end;
    const auto left = trainer.fit(numbered{4 * (size - 1) * rounds}, epochs{1},
                                  [&](const step_report& step) { at(step.step); });
    for (const detail::rank_loss& change : trainer.state().losses())
        end.lost[static_cast<std::size_t>(change.rank)] = true;
    end.digest = detail::wire::frame_digest(std::as_bytes(trainer.parameters()), 0);
    end.rounds = left.steps;
    if (const auto* const server = trainer.state().server()) end.steps = server->version();
    return end;
}

/// A job of 5 ranks over TCP, each a process; rank 0 serves.
template <class Consistency>
class job {
public:
    job(const Consistency& consistency, const std::filesystem::path& folder)
        : consistency_(consistency), folder_(folder) {
        options_.size = size;
        options_.port = 0;
        options_.elastic = true;
        first_ = std::make_unique<tcp::meeting>(options_);
        options_.port = first_->port();
    }

    /// Starts a rank, as another process; which of all. `at(step, say)` is called after each of its
    /// steps, and after step 0, when it is there.
    template <class At>
    std::size_t start(int rank, At at) {
        ranks_.start([&, rank](auto say) {
            tcp_options own = options_;
            own.rank = rank;
            if (rank != 0) first_.reset();
            tcp through = rank == 0 && first_ ? first_->join() : tcp::join(own);
            at(std::int64_t{0}, say);
            say(train(through, consistency_, folder_, [&](std::int64_t step) { at(step, say); }));
        });
        return count_++;
    }
    void all_started() { first_.reset(); }

    processes& ranks() noexcept { return ranks_; }

    ending end_of(std::size_t which) {
        ending end;
        const bool heard = ranks_.hear(which, end);
        const int status = ranks_.wait(which);
        CAPTURE(which);
        CAPTURE(status);
        REQUIRE(heard);
        CHECK(WIFEXITED(status));
        CHECK(WEXITSTATUS(status) == 0);
        return end;
    }
    void require_killed(std::size_t which) {
        ending end;
        CHECK_FALSE(ranks_.hear(which, end));
        CHECK(WIFSIGNALED(ranks_.wait(which)));
    }

private:
    Consistency consistency_;
    std::filesystem::path folder_;
    tcp_options options_;
    std::unique_ptr<tcp::meeting> first_;
    processes ranks_;
    std::size_t count_ = 0;
};

std::int64_t some_step(random_stream& random) {
    return 1 + static_cast<std::int64_t>(random.below(rounds - 1));
}

/// Kills some workers, each after some steps of its own.
template <class Consistency>
void kill_some(const Consistency& consistency, std::span<const int> victims, random_stream random) {
    const scratch_folder folder("parameter_server_kills");
    job all(consistency, folder.path());
    std::array<std::int64_t, size> dies_after{};
    for (const int victim : victims)
        dies_after[static_cast<std::size_t>(victim)] = some_step(random);
    for (int rank = 0; rank < size; ++rank)
        all.start(rank,
                  [last = dies_after[static_cast<std::size_t>(rank)]](std::int64_t step, auto&&) {
                      if (step > 0 && step == last) ::raise(SIGKILL);
                  });
    all.all_started();
    std::uint64_t digest = 0;
    for (int rank = 0; rank < size; ++rank) {
        CAPTURE(rank);
        const auto which = static_cast<std::size_t>(rank);
        if (dies_after[which] > 0) {
            all.require_killed(which);
            continue;
        }
        const ending end = all.end_of(which);
        for (int other = 0; other < size; ++other) {
            const bool lost = end.lost[static_cast<std::size_t>(other)];
            const bool died = dies_after[static_cast<std::size_t>(other)] > 0;
            // A worker may have ended before it heard of all that the server had.
            CHECK((rank == 0 ? lost == died : died || !lost));
        }
        if (rank == 0) digest = end.digest;
        CHECK(end.digest == digest);  // all have what the server has
        CHECK(end.rounds == (rank == 0 ? 0 : rounds));
        if (rank == 0) CHECK(end.steps > 0);
    }
}

/// Kills one rank, the server or a worker, and starts it again.
template <class Consistency>
void kill_and_start_again(const Consistency& consistency, int victim, random_stream random) {
    const scratch_folder folder("parameter_server_kills");
    job all(consistency, folder.path());
    const std::int64_t last = some_step(random);
    const int witness = victim == 1 ? 2 : 1;  // it waits meanwhile, so that the job does not end
    const auto gate = folder.path() / "gate";
    REQUIRE(::mkfifo(gate.c_str(), 0600) == 0);
    for (int rank = 0; rank < size; ++rank)
        all.start(rank, [&, rank](std::int64_t step, auto&& say) {
            if (step != last) return;
            if (rank == victim) ::raise(SIGKILL);
            if (rank != witness) return;
            say('w');
            std::ifstream(gate).get();
        });
    all.all_started();
    char there = 0;
    if (victim == 0) {
        REQUIRE(all.ranks().hear(static_cast<std::size_t>(witness), there));
        all.ranks().signal(0, SIGKILL);
    }
    all.require_killed(static_cast<std::size_t>(victim));
    const std::size_t again = all.start(victim, [](std::int64_t step, auto&& say) {
        if (step == 0) say('h');
    });
    REQUIRE(all.ranks().hear(again, there));
    if (victim != 0) REQUIRE(all.ranks().hear(static_cast<std::size_t>(witness), there));
    std::ofstream(gate) << 'g';
    const ending server = all.end_of(victim == 0 ? again : 0);
    for (int rank = 1; rank < size; ++rank) {
        CAPTURE(rank);
        const ending end = all.end_of(rank == victim ? again : static_cast<std::size_t>(rank));
        CHECK(end.digest == server.digest);
        // What it had done before it was killed is not done again, but for a push on its way.
        if (rank == victim) {
            CHECK(end.rounds >= rounds - last);
            CHECK(end.rounds <= rounds - last + 1);
        } else {
            CHECK(end.rounds == rounds);
        }
        CHECK((rank == victim || end.lost[static_cast<std::size_t>(victim)] || victim != 0));
    }
    CHECK((victim == 0 || server.lost[static_cast<std::size_t>(victim)]));
}

}  // namespace

TEST_CASE("workers that are killed are named, and the others train to the end") {
    random_stream random(5);
    for (int trial = 0; trial < 2; ++trial) {
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

TEST_CASE("a server or a worker that is killed and started again goes on where it was") {
    random_stream random(6);
    for (int trial = 0; trial < 2; ++trial)
        for (const int victim : {0, 1 + static_cast<int>(random.below(4))}) {
            CAPTURE(trial);
            CAPTURE(victim);
            kill_and_start_again(asynchronous{}, victim, random.split("asynchronous"));
            kill_and_start_again(stale_synchronous{.bound = 2}, victim, random.split("stale"));
            kill_and_start_again(bulk_synchronous{}, victim, random.split("bulk"));
        }
}
