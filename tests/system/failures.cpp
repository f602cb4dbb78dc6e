// A worker fails at a known point: all others end too, say who failed and why, and stand bit for
// bit as after the last completed round.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "sotto/core/errors.hpp"
#include "support/all_policies.hpp"
#include "support/allocation_count.hpp"
#include "support/endings.hpp"
#include "support/numbers.hpp"
#include "support/sensible.hpp"
#include "support/training.hpp"

using namespace sotto;
using testing::ending, testing::keep, testing::sensible, testing::text_of, testing::thrown_by,
    testing::trained;

namespace {

constexpr int world = 3;
constexpr std::int64_t batch_size = 4, rounds_an_epoch = 5;
constexpr std::int64_t examples = world * batch_size * rounds_an_epoch;

struct planned_failure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

enum class phase {
    gather,
    compute,
    announcing,
    announced,
    optimizer,
    step_callback,
    epoch_callback,
    evaluate
};
constexpr std::array every_phase{phase::gather,         phase::compute,   phase::announcing,
                                 phase::announced,      phase::optimizer, phase::step_callback,
                                 phase::epoch_callback, phase::evaluate};

/// Where a worker fails; steps count from 1.
struct point {
    static constexpr int nobody = -1;

    int rank = nobody;
    std::int64_t step = 1;
    phase where = phase::compute;

    /// Rounds that all ranks complete before.
    std::int64_t completed() const {
        switch (where) {
            case phase::step_callback: return step;
            case phase::epoch_callback:
            case phase::evaluate:
                return (step + rounds_an_epoch - 1) / rounds_an_epoch * rounds_an_epoch;
            default: return step - 1;
        }
    }
    std::string text() const {
        return "planned at step " + std::to_string(step) + " of rank " + std::to_string(rank);
    }
};

/// Evaluation can fail too.
struct fragile_model : testing::number_model {
    std::function<void()> on_loss{};
    double loss(std::span<const float> parameters, const batch_type& batch) {
        if (on_loss) on_loss();
        return number_model::loss(parameters, batch);
    }
};

/// An optimizer that can fail when a step begins, after it has changed what it has to change.
template <class Optimizer>
struct fragile_optimizer : Optimizer {
    using whole = decltype(std::declval<const Optimizer&>().bind(std::declval<const layout&>()));

    point failure{};

    struct state : whole {
        state(const fragile_optimizer& options, const layout& tensors)
            : whole(static_cast<const Optimizer&>(options).bind(tensors)),
              failure(options.failure) {}
        point failure;

        void begin_step(const step_info& step, std::span<const float> gradient) {
            whole::begin_step(step, gradient);
            if (failure.where == phase::optimizer && step.where.rank == failure.rank &&
                step.where.step + 1 == failure.step)
                throw planned_failure(failure.text());
        }
    };
    state bind(const layout& tensors) const { return {*this, tensors}; }
};

/// Top-k with error feedback, whose third round cannot be decoded on rank 1, after the first tensor
/// was. Nobody else can know.
struct deaf_at_last {
    using whole = sparsified<top_k, residual>;
    static constexpr bool holds_momentum = false;

    struct state : whole::state {
        using whole::state::state;
        round_info now{};
        void begin_round(const round_info& where) {
            now = where;
            whole::state::begin_round(where);
        }
        detail::sparse_view decode(const tensor& t, byte_view message) {
            if (now.rank == 1 && now.step == 2 && t.name == "second.weight")
                throw planned_failure("deaf");
            return whole::state::decode(t, message);
        }
    };
    state bind(const layout& tensors) const { return {sensible<whole>::options(), tensors}; }
};

/// Trains until the point of failure, or to the end.
template <class Optimizer, class Compressor, class Collective>
std::exception_ptr run(const all_reduce<Optimizer, Compressor, Collective>& options,
                       const point& at, detail::training_length length,
                       std::vector<ending>& endings) {
    endings.assign(world, {});
    const all_reduce strategy{fragile_optimizer<Optimizer>{options.optimizer, at},
                              options.compressor, options.collective};
    return thrown_by(world, [&](in_process& transport) {
        const bool chosen = transport.rank() == at.rank;
        std::int64_t step = 1;  // the one under way
        const auto fail_in = [&](phase where) {
            if (chosen && at.where == where && step == at.step) throw planned_failure(at.text());
        };
        fragile_model model;
        const auto tensors = static_cast<int>(model.layout().tensors().size());
        model.on_progress = [&](int announced) {
            if (announced == 0) fail_in(phase::compute);
            if (announced == 2) fail_in(phase::announcing);
            if (announced == tensors) fail_in(phase::announced);
        };
        model.on_loss = [&] {
            if (chosen && at.where == phase::evaluate && step > at.completed())
                throw planned_failure(at.text());
        };
        testing::numbered data{examples}, unseen{10};
        data.on_gather = [&] { fail_in(phase::gather); };
        struct callbacks {
            std::function<void(const step_report&)> after_step;
            std::function<void(const epoch_report&)> after_epoch;
            void on_step(const step_report& report) { after_step(report); }
            void on_epoch(const epoch_report& report) { after_epoch(report); }
        } callbacks{
            [&](const step_report&) {
                fail_in(phase::step_callback);
                ++step;
            },
            [&](const epoch_report& report) {
                if (chosen && at.where == phase::epoch_callback && report.step == at.completed())
                    throw planned_failure(at.text());
            }};
        trainer trainer{model, strategy, transport, {.batch_size = batch_size}};
        const auto fit = [&] { trainer.fit(data, length, evaluate_on{unseen}, callbacks); };
        ending& mine = endings[static_cast<std::size_t>(transport.rank())];
        try {
            fit();
        } catch (const peer_failure& e) {
            mine.blamed = e;
            keep(mine.held, trainer);
            try {
                fit();
            } catch (const peer_failure&) {
                mine.refuses_to_go_on = true;
            }
            throw;
        } catch (const planned_failure&) {
            mine.failed_itself = true;
            keep(mine.held, trainer);
            throw;
        }
        keep(mine.held, trainer);
    });
}

/// What every rank holds after this many rounds without a failure.
template <class Strategy>
std::vector<trained> after(const Strategy& strategy, std::int64_t rounds) {
    return testing::train(world, strategy,
                          {.examples = examples,
                           .batch_size = batch_size,
                           .length = steps{rounds},
                           .seed = training_options{}.seed});
}

}  // namespace

TEST_CASE_TEMPLATE_DEFINE("whoever fails, and wherever, leaves all others after the same round", S,
                          fails_cleanly) {
    const auto strategy = sensible<S>::options();
    std::map<std::int64_t, std::vector<ending>> undisturbed;  // by the rounds that they trained for
    const auto expected = [&](std::int64_t rounds) -> const std::vector<ending>& {
        std::vector<ending>& whole = undisturbed[rounds];
        if (whole.empty()) REQUIRE_FALSE(run(strategy, {}, steps{rounds}, whole));
        return whole;
    };
    for (const phase where : every_phase)
        for (const std::int64_t step : {1, 2, 7})
            for (int rank = 0; rank < world; ++rank) {
                const point at{rank, step, where};
                CAPTURE(static_cast<int>(where));
                CAPTURE(at.text());
                std::vector<ending> endings;
                CHECK(text_of(run(strategy, at, epochs{4}, endings)) == at.text());
                for (std::size_t r = 0; r < world; ++r) {
                    const ending& e = endings[r];
                    CHECK(e.held.same_state(expected(at.completed())[r].held));
                    const bool failed = static_cast<int>(r) == rank;
                    CHECK(e.failed_itself == failed);
                    if (failed) continue;
                    REQUIRE(e.blamed.has_value());
                    CHECK(e.blamed->rank() == rank);
                    CHECK(e.blamed->cause() == at.text());
                    CHECK(e.blamed->code() == make_error_code(errc::peer_failed));
                    CHECK(e.refuses_to_go_on);
                }
            }
}
TEST_CASE_TEMPLATE_APPLY(fails_cleanly, testing::every_strategy);

TEST_CASE("a rank that throws in the middle of a round ends all others within 100 ms") {
    using clock = std::chrono::steady_clock;
    constexpr int ranks = 4, trials = 5;
    // Sanitizers, under which allocations are not counted either, slow threads down.
    const double bound_ms = support::allocation_count::works ? 100.0 : 2000.0;
    double best_ms = std::numeric_limits<double>::infinity();  // of the slowest rank in a trial
    for (int trial = 0; trial < trials; ++trial) {
        clock::time_point thrown{};
        std::array<clock::time_point, ranks> caught{};
        CHECK(text_of(thrown_by(ranks, [&](in_process& transport) {
                  testing::number_model model;
                  std::int64_t calls = 0;
                  model.on_progress = [&](int announced) {
                      if (transport.rank() != trial % ranks || announced != 2 || ++calls < 7)
                          return;
                      thrown = clock::now();
                      throw planned_failure("in the middle");
                  };
                  trainer trainer{model,
                                  all_reduce{sgd{}, sensible<dgc>::options()},
                                  transport,
                                  {.batch_size = batch_size}};
                  try {
                      trainer.fit(testing::numbered{examples}, epochs{4});
                  } catch (...) {
                      caught[static_cast<std::size_t>(transport.rank())] = clock::now();
                      throw;
                  }
              })) == "in the middle");
        const std::chrono::duration<double, std::milli> slowest =
            *std::max_element(caught.begin(), caught.end()) - thrown;
        for (const clock::time_point at : caught) CHECK(at >= thrown);
        best_ms = std::min(best_ms, slowest.count());
    }
    CHECK(best_ms < bound_ms);
}

TEST_CASE("a rank that cannot decode what all others can keeps them from applying it") {
    std::vector<ending> endings(world);
    const all_reduce strategy{momentum_sgd{}, deaf_at_last{}};
    const auto thrown = thrown_by(world, [&](in_process& transport) {
        testing::number_model model;
        trainer trainer{model, strategy, transport, {.batch_size = batch_size}};
        ending& mine = endings[static_cast<std::size_t>(transport.rank())];
        try {
            trainer.fit(testing::numbered{examples}, epochs{2});
        } catch (const std::exception& e) {
            mine.failed_itself = std::string(e.what()) == "deaf";
            if (const auto* blame = dynamic_cast<const peer_failure*>(&e)) mine.blamed = *blame;
            keep(mine.held, trainer);
            throw;
        }
    });
    CHECK(text_of(thrown) == "deaf");
    const auto expected = after(strategy, 2);
    for (int r = 0; r < world; ++r) {
        const ending& e = endings[static_cast<std::size_t>(r)];
        CHECK(e.failed_itself == (r == 1));
        CHECK(e.held.same_state(expected[static_cast<std::size_t>(r)]));
        if (r == 1) continue;
        REQUIRE(e.blamed.has_value());
        CHECK(e.blamed->rank() == 1);
    }
}

TEST_CASE("the original exception arrives with its type") {
    std::vector<ending> endings;
    const auto thrown = run(all_reduce{}, {1, 2, phase::announcing}, epochs{4}, endings);
    REQUIRE(thrown);
    CHECK_THROWS_AS(std::rethrow_exception(thrown), planned_failure);
}

TEST_CASE("a rank may fail while nothing is left of its data") {
    const auto thrown = thrown_by(2, [&](in_process& transport) {
        testing::number_model model;
        testing::numbered data{transport.rank() == 0 ? 20 : 4};
        int gathered = 0;
        data.on_gather = [&] {
            if (transport.rank() == 1 && ++gathered == 3) throw planned_failure("without data");
        };
        trainer trainer{model, all_reduce{sgd{}, dgc{}}, transport, {.batch_size = 4}};
        trainer.fit(local_data{data}, epochs{1});
    });
    CHECK(text_of(thrown) == "without data");
}

TEST_CASE("a gradient that is not finite is refused where it arises, and nobody remembers it") {
    const auto check = [](const auto& strategy, float poison) {
        for (int rank = 0; rank < world; ++rank) {
            std::vector<ending> endings(world);
            const auto thrown = thrown_by(world, [&](in_process& transport) {
                testing::number_model model;
                int calls = 0;
                model.spoil = [&](std::span<float> gradient) {
                    // 300 weights, 12 biases, then second.weight: its element 5
                    if (transport.rank() == rank && ++calls == 4) gradient[317] = poison;
                };
                trainer trainer{model, strategy, transport, {.batch_size = batch_size}};
                ending& mine = endings[static_cast<std::size_t>(transport.rank())];
                try {
                    trainer.fit(testing::numbered{examples}, epochs{2});
                } catch (const peer_failure& e) {
                    mine.blamed = e;
                    keep(mine.held, trainer);
                    throw;
                } catch (const non_finite& e) {
                    mine.failed_itself = true;
                    CHECK(e.rank() == rank);
                    CHECK(e.tensor() == "second.weight");
                    CHECK(e.index() == 5);
                    CHECK(e.code() == make_error_code(errc::non_finite));
                    keep(mine.held, trainer);
                    throw;
                }
            });
            const std::string sentence = "the gradient of rank " + std::to_string(rank) +
                                         " is not finite: tensor 'second.weight', element 5";
            const std::string said = text_of(thrown);
            CHECK(said.starts_with(sentence + " (step 4, epoch 1, last loss "));
            CHECK(std::stod(said.substr(said.rfind(' '))) > 0.0);
            const auto expected = after(strategy, 3);
            for (int r = 0; r < world; ++r) {
                const ending& e = endings[static_cast<std::size_t>(r)];
                CHECK(e.failed_itself == (r == rank));
                CHECK(e.held.same_state(expected[static_cast<std::size_t>(r)]));
                if (e.blamed) CHECK(e.blamed->cause() == sentence);
            }
        }
    };
    for (const float poison :
         {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
        check(sensible<all_reduce<momentum_sgd, none>>::options(), poison);
        check(sensible<all_reduce<sgd, dgc>>::options(), poison);
        dgc by_model = sensible<dgc>::options();
        by_model.clip_norm = 1.0;
        by_model.clip = local_clipping::per_model;
        check(all_reduce{sgd{}, by_model}, poison);
    }
}

TEST_CASE("a sum that overflows is refused by all ranks, and none applies it") {
    const std::string sum =
        "the sum over all ranks is not finite: tensor 'first.weight', element 0";
    const std::string hint =
        "; values travel in fp16, which holds at most 65504: use bf16{} or none{}, or scale the "
        "loss down";
    const auto check = [](const auto& strategy, float large, std::int64_t completed,
                          bool one_rank_alone, const std::string& text) {
        const auto spoil = [=](int rank, int step) {
            return [=, calls = 0](std::span<float> gradient) mutable {
                if (++calls >= step && (rank == 1 || !one_rank_alone)) gradient[0] = large;
            };
        };
        const auto run = [&](detail::training_length length, std::vector<ending>& endings) {
            endings.assign(world, {});
            return thrown_by(world, [&](in_process& transport) {
                testing::number_model model;
                model.spoil = spoil(transport.rank(), 2);
                trainer trainer{model, strategy, transport, {.batch_size = batch_size}};
                ending& mine = endings[static_cast<std::size_t>(transport.rank())];
                try {
                    trainer.fit(testing::numbered{examples}, length);
                } catch (const error&) {
                    mine.failed_itself = true;
                    keep(mine.held, trainer);
                    throw;
                }
                keep(mine.held, trainer);
            });
        };
        std::vector<ending> endings, expected;
        const std::string said = text_of(run(epochs{2}, endings));
        CHECK(said.starts_with(text + " (step " + std::to_string(completed + 1) +
                               ", epoch 1, last loss "));
        CHECK(text_of(run(steps{completed}, expected)) == "nothing");
        for (std::size_t r = 0; r < world; ++r) {
            CHECK(endings[r].failed_itself);
            CHECK(endings[r].held.same_state(expected[r].held));
        }
    };
    // A third of it, one rank's part of the mean, is above 65504; or only the sum of all parts is.
    check(all_reduce{sgd{}, fp16{}}, 3e5f, 1, true,
          "tensor 'first.weight', element 0 is 100000.000000" + hint);
    check(all_reduce{sgd{}, fp16{}}, 1.5e5f, 1, false, sum + hint);
    // Each rank's message is finite; with the momentum of the round before, their sum is not.
    // Dense enough to be applied as a whole, and sparse enough to be applied entry by entry.
    for (const double density : {0.25, 0.02}) {
        const dgc unmasked{.density = density, .mask = false, .warm_up_epochs = 0};
        check(all_reduce{sgd{.learning_rate = 1e-3}, unmasked}, 3e38f, 2, false, sum);
    }
}

TEST_CASE("values beyond a half's range go out in parts instead") {
    dgc halves = sensible<dgc>::options();
    halves.values = wire::value_format::fp16;
    run_in_process(2, [&](in_process& transport) {
        testing::number_model model;
        model.spoil = [](std::span<float> gradient) { gradient[0] = 1e6f; };
        trainer trainer{model, all_reduce{sgd{}, halves}, transport, {.batch_size = 4}};
        CHECK_NOTHROW(trainer.fit(testing::numbered{40}, epochs{2}));
    });
}
