// Ranks of gossip over TCP, each a process, of which some are killed: the others go on at once, and
// once it is gone they keep their mean; one that is started again fetches parameters.
//
//   SOTTO_GOSSIP_KILLS  how many are killed, one a run; 3
//   SOTTO_GOSSIP_RANKS  of how many on a ring; 4, at most 8

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <memory>
#include <vector>

#include "sotto/strategies/gossip/control/consensus_control.hpp"
#include "sotto/core/random.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/strategies/gossip.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/diagnostics.hpp"
#include "sotto/transports/tcp.hpp"
#include "support/fault_seeds.hpp"
#include "support/folders.hpp"
#include "support/processes.hpp"
#include "support/pulled_apart.hpp"

using namespace sotto;
using namespace sotto::testing;

namespace {

constexpr std::int64_t steps_done = 60;
constexpr std::size_t watched = 4;  // parameters
constexpr double rate = 0.125;
constexpr double patience = 20.0;  // seconds

/// No step of a survivor takes longer, the one with the loss among them. The promise is that a loss
/// is known within 0.1 s, as the system closes the connections of a process that it kills; whoever
/// waits for it in vain instead waits for all of the patience, and then gives up. A step takes
/// some 0.01 s, and with sanitizers on a loaded machine some 100 times as long: half of the
/// patience is well away from both.
constexpr double longest_allowed = patience / 2;

/// What a rank that lived to the end saw.
struct ending {
    std::array<bool, 8> lost{};                                  // ranks
    std::array<std::array<float, watched>, steps_done + 1> x{};  // after each step
    std::int64_t first = 0;                                      // step of this process
    std::int64_t knew = 0;                    // the first step after which it knew of a loss
    double longest = 0.0;                     // seconds of a step
    std::int64_t went = -1, came_again = -1;  // this rank's steps, of the rank that it lost first
    bool told_source = false;                 // it remarked whose parameters it took
};

bool told_source = false;  // of this process, which is one rank

void hear(const diagnostic& said) noexcept {
    told_source |=
        said.text.starts_with("came while others train: goes on with the parameters of ");
    print_diagnostic(said);
}

/// Trains as one rank of a job; `at(step)` is called after each step, and after step 0.
template <class Control, class At>
ending train(tcp& through, const Control& control, At at) {
    const gossip strategy{sgd{.learning_rate = rate},
                          topologies::ring{},
                          control,
                          none{},
                          mixing::adapt_then_combine{},
                          surviving{.patience = patience}};
    pulling_model model(through.rank(), 20'000);
    trainer trainer{model, strategy, through, {.batch_size = 1, .seed = 1}};
    ending end;
    end.first = -1;
    const auto keep = [&](std::int64_t step) {
        std::copy_n(trainer.parameters().begin(), watched,
                    end.x[static_cast<std::size_t>(step)].begin());
    };
    time_point began = through.now();
    const auto left =
        trainer.fit(numbered{through.size() * steps_done}, epochs{1}, [&](const step_report& step) {
            end.longest = std::max(end.longest, in_seconds(through.now() - began));
            if (end.first < 0) end.first = step.step - 1;
            keep(step.step);
            if (end.knew == 0 && !trainer.state().losses().empty()) end.knew = step.step;
            at(step.step);
            began = through.now();
        });
    for (const detail::rank_loss& loss : left.losses)
        end.lost[static_cast<std::size_t>(loss.rank)] = true;
    if (!left.losses.empty()) {
        end.went = left.losses.front().step;
        end.came_again = left.losses.front().again_step;
    }
    end.told_source = told_source;
    return end;
}

class job {
public:
    explicit job(int size) {
        options_.size = size;
        options_.port = 0;
        options_.elastic = true;
        first_ = std::make_unique<tcp::meeting>(options_);
        options_.port = first_->port();
    }

    /// Starts a rank, as another process; which of all.
    template <class Control, class At>
    std::size_t start(int rank, const Control& control, At at) {
        ranks_.start([&, rank](auto say) {
            tcp_options own = options_;
            own.rank = rank;
            on_diagnostic = hear;
            if (rank != 0) first_.reset();
            tcp through = rank == 0 && first_ ? first_->join() : tcp::join(own);
            at(std::int64_t{0}, say);
            try {
                say(train(through, control, [&](std::int64_t step) { at(step, say); }));
            } catch (const std::exception& e) {
                std::fprintf(stderr, "rank %d: %s\n", rank, e.what());
                throw;
            }
        });
        return count_++;
    }
    void all_started() { first_.reset(); }
    processes& ranks() noexcept { return ranks_; }

    ending end_of(std::size_t which) {
        ending end;
        CAPTURE(which);
        REQUIRE(ranks_.hear(which, end));
        const int status = ranks_.wait(which);
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
    tcp_options options_;
    std::unique_ptr<tcp::meeting> first_;
    processes ranks_;
    std::size_t count_ = 0;
};

/// By how much the sum over the survivors moves in a step otherwise than by their own forces.
double loses_of_sum(const std::vector<ending>& ends, int victim, std::int64_t step) {
    const auto t = static_cast<std::size_t>(step);
    return testing::loses_of_sum(static_cast<int>(ends.size()), watched, rate, {victim},
                                 [&](std::size_t rank, std::size_t i) {
                                     return double{ends[rank].x[t + 1][i]} - ends[rank].x[t][i];
                                 });
}

template <class Control>
void kill_one(const Control& control, int size, random_stream random) {
    const int victim = static_cast<int>(random.below(static_cast<std::uint64_t>(size)));
    const auto last = 1 + static_cast<std::int64_t>(random.below(steps_done - 10));
    CAPTURE(victim);
    CAPTURE(last);
    const bool by_itself = random.below(4) == 0;  // between two steps, or whenever the signal comes
    CAPTURE(by_itself);
    job all(size);
    for (int rank = 0; rank < size; ++rank)
        all.start(rank, control, [&, rank](std::int64_t step, auto&& say) {
            if (rank != victim || step != last) return;
            if (by_itself) ::raise(SIGKILL);
            say('k');
        });
    all.all_started();
    char there = 0;
    if (!by_itself) {
        REQUIRE(all.ranks().hear(static_cast<std::size_t>(victim), there));
        all.ranks().signal(static_cast<std::size_t>(victim), SIGKILL);
    }
    all.require_killed(static_cast<std::size_t>(victim));
    std::vector<ending> ends(static_cast<std::size_t>(size));
    double longest = 0.0;
    std::int64_t known = 0;
    for (int rank = 0; rank < size; ++rank) {
        if (rank == victim) continue;
        ending& end = ends[static_cast<std::size_t>(rank)];
        end = all.end_of(static_cast<std::size_t>(rank));
        CHECK(end.first == 0);
        CHECK(end.went >= 0);
        CHECK(end.came_again == -1);
        longest = std::max(longest, end.longest);
        known = std::max(known, end.knew);
        for (int other = 0; other < size; ++other)
            CHECK(end.lost[static_cast<std::size_t>(other)] == (other == victim));
    }
    CHECK(known < steps_done);
    CHECK(longest < longest_allowed);
    for (std::int64_t step = known; step < steps_done; ++step)
        CHECK(loses_of_sum(ends, victim, step) < 1e-3);
    std::fprintf(stderr, "rank %d of %d killed, known after step %lld: longest step %.3f s\n",
                 victim, size, static_cast<long long>(known), longest);
}

template <class Control>
void kill_and_start_again(const Control& control, int size, random_stream random) {
    const scratch_folder folder("gossip_kills");
    const int victim = static_cast<int>(random.below(static_cast<std::uint64_t>(size)));
    const int witness = (victim + 1) % size;  // it waits meanwhile, so that the job does not end
    const std::int64_t last = 20;
    const auto gate = folder.path() / "gate";
    REQUIRE(::mkfifo(gate.c_str(), 0600) == 0);
    job all(size);
    for (int rank = 0; rank < size; ++rank)
        all.start(rank, control, [&, rank](std::int64_t step, auto&& say) {
            if (step != last) return;
            if (rank == victim) ::raise(SIGKILL);
            if (rank != witness) return;
            say('w');
            std::ifstream(gate).get();
        });
    all.all_started();
    char there = 0;
    all.require_killed(static_cast<std::size_t>(victim));
    const std::size_t again = all.start(victim, control, [](std::int64_t step, auto&& say) {
        if (step == 0) say('h');
    });
    REQUIRE(all.ranks().hear(again, there));
    REQUIRE(all.ranks().hear(static_cast<std::size_t>(witness), there));
    std::ofstream(gate) << 'g';
    const ending end = all.end_of(again);
    CHECK(end.first >= last - size);
    CHECK(end.first < steps_done);
    CHECK(end.told_source);
    for (int rank = 0; rank < size; ++rank) {
        if (rank == victim) continue;
        const ending other = all.end_of(static_cast<std::size_t>(rank));
        CHECK(other.first == 0);
        CHECK_FALSE(other.told_source);
        CHECK(other.went >= 0);
        CHECK(other.came_again >= other.went);
        for (std::size_t i = 0; i < watched; ++i)  // alone they would be some 100 apart
            CHECK(std::abs(other.x[steps_done][i] - end.x[steps_done][i]) < 20.0);
    }
}

}  // namespace

TEST_CASE("neighbours of a rank that is killed go on, and the mean of the others is kept") {
    random_stream random(7);
    const int size = static_cast<int>(number_from("SOTTO_GOSSIP_RANKS", 4));
    REQUIRE(size <= 8);
    for (std::uint64_t trial = 0; trial < number_from("SOTTO_GOSSIP_KILLS", 3); ++trial) {
        CAPTURE(trial);
        const random_stream chance = random.split(trial);
        if (trial % 2 == 0)
            kill_one(no_control{}, size, chance);
        else
            kill_one(consensus_control{.rho = 0.5}, size, chance);
    }
}

TEST_CASE("a rank that is killed and started again fetches parameters and mixes on") {
    kill_and_start_again(no_control{}, 4, random_stream(8));
    kill_and_start_again(consensus_control{.rho = 0.5}, 4, random_stream(9));
}
