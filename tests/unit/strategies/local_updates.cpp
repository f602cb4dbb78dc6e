#include "sotto/strategies/local_updates.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <vector>

#include "sotto/compressors/error_feedback.hpp"
#include "sotto/compressors/none.hpp"
#include "sotto/compressors/residual.hpp"
#include "sotto/compressors/sparsified.hpp"
#include "sotto/compressors/top_k.hpp"
#include "sotto/optimizers/adamw.hpp"
#include "sotto/optimizers/momentum_sgd.hpp"
#include "sotto/strategies/gossip.hpp"
#include "sotto/strategies/noloco.hpp"
#include "sotto/topologies/complete.hpp"
#include "sotto/logging/run_recorder.hpp"
#include "support/snapshot.hpp"
#include "support/training.hpp"
#include "support/tug_of_war.hpp"

using namespace sotto;
using testing::exercise, testing::numbered, testing::number_model, testing::train;

namespace {

const all_reduce<sgd> mean{sgd{.learning_rate = 1.0}};

/// Every rank pulls each of 12 parameters to its own number.
struct pulled : testing::tug_of_war {
    explicit pulled(int rank) : tug_of_war(rank, {.size = 8, .kinds = 1}) {}
};

struct ended {
    std::vector<float> x;
    fit_report report;
};

template <class Strategy>
std::vector<ended> pull(const Strategy& strategy, int ranks, std::int64_t steps) {
    std::vector<ended> left(static_cast<std::size_t>(ranks));
    run_in_process(ranks, [&](auto& transport) {
        pulled model(transport.rank());
        trainer trainer{model, strategy, transport, {.batch_size = 1}};
        ended& mine = left[static_cast<std::size_t>(transport.rank())];
        mine.report = trainer.fit(numbered{ranks}, epochs{steps});
        mine.x.assign(trainer.parameters().begin(), trainer.parameters().end());
    });
    return left;
}

/// Takes the outer step, and fails as it begins one of them, as long as it is told to.
struct fragile_outer {
    std::int64_t fails_in = -1;
    int* failures = nullptr;

    struct state {
        std::int64_t fails_in;
        int* failures;
        void begin_step(const step_info& step, std::span<const float>) const {
            if (step.where.step != fails_in || step.where.rank != 0 || *failures == 0) return;
            --*failures;
            throw std::runtime_error("no meeting");
        }
        void update(const tensor&, std::span<float> x, std::span<const float> way) noexcept {
            for (std::size_t i = 0; i < x.size(); ++i) x[i] -= way[i];
        }
        void visit(auto&&) {}
    };
    state bind(const layout&) const { return {fails_in, failures}; }
};

}  // namespace

TEST_CASE("one rank that meets by the mean takes the steps of its optimizer") {
    const momentum_sgd by{.learning_rate = 0.0625};
    for (const std::int64_t every : {1, 4, 1000}) {
        const auto found = train(1, local_updates{by, mean, {.every = every}});
        CHECK(testing::distance(found[0], train(1, all_reduce{by})[0]) < 1e-5);
    }
}

TEST_CASE("meetings after every step of SGD are an all-reduce of gradients, where sums are exact") {
    const exercise work{.examples = 128, .batch_size = 4};
    const sgd by{.learning_rate = 0.0625};
    const auto expected = train(4, all_reduce{by}, work);
    const auto found = train(4, local_updates{by, mean, {.every = 1}}, work);
    CHECK(agree(found));
    CHECK(found[0].same_parameters(expected[0]));
    // Gradients do not depend on parameters: however long ranks are apart, they come to the same.
    for (const std::int64_t every : {3, 5, 100}) {
        const auto rarely = train(4, local_updates{by, mean, {.every = every}}, work);
        CHECK(agree(rarely));
        CHECK(testing::distance(rarely[0], expected[0]) < 1e-5);
    }
}

TEST_CASE("DiLoCo follows its recursion: Nesterov on how far ranks have come") {
    constexpr int ranks = 3, H = 4;
    const auto follows = [](const all_reduce<momentum_sgd>& outer, double rate, double momentum) {
        const auto left =
            pull(local_updates{sgd{.learning_rate = 0.25}, outer, {.every = H}}, ranks, 3 * H);
        double theta = 0.0, m = 0.0;
        for (int meeting = 0; meeting < 3; ++meeting) {
            double came = 0.0;
            for (int rank = 0; rank < ranks; ++rank) {
                double x = theta;
                for (int step = 0; step < H; ++step) x -= 0.25 * (x - rank);
                came += (theta - x) / ranks;
            }
            m = momentum * m + came;
            theta -= rate * (came + momentum * m);
        }
        for (const ended& rank : left)
            for (const float x : rank.x) CHECK(x == doctest::Approx(theta).epsilon(1e-5));
    };
    follows(diloco(), 0.7, 0.9);  // as published
    follows(diloco(0.9, 0.5), 0.9, 0.5);
}

TEST_CASE("SparseLoCo follows its recursion: error feedback in place of momentum") {
    constexpr int ranks = 3, H = 4, meetings = 40;
    auto outer = sparse_loco(2);
    outer.compressor.inner.chunk = 5;  // two of each at most
    const auto left =
        pull(local_updates{sgd{.learning_rate = 0.25}, outer, {.every = H}}, ranks, meetings * H);
    const pulled model(0);
    auto state = outer.compressor.inner.bind(model.layout());
    std::vector<float> theta(12);
    std::vector<std::vector<float>> e(ranks, theta);
    for (int meeting = 0; meeting < meetings; ++meeting) {
        std::vector<float> sum(12);
        for (int rank = 0; rank < ranks; ++rank) {
            auto& mine = e[static_cast<std::size_t>(rank)];
            for (std::size_t i = 0; i < 12; ++i) {
                float x = theta[i];
                for (int step = 0; step < H; ++step) x -= 0.25f * (x - static_cast<float>(rank));
                mine[i] = 0.95f * mine[i] + (theta[i] - x) / ranks;
            }
            for (const tensor& t : model.layout()) {
                bytes message;
                state.encode(t, t.of(std::span<const float>(mine)), message);
                state.decode_add(t, message, t.of(std::span(sum)));
                state.decode_subtract(t, message, t.of(std::span(mine)));
            }
        }
        for (std::size_t i = 0; i < 12; ++i) theta[i] -= sum[i];
    }
    for (const ended& rank : left) {
        CHECK(rank.x == left[0].x);
        for (std::size_t i = 0; i < 12; ++i) {
            CHECK(rank.x[i] == doctest::Approx(theta[i]).epsilon(1e-3));
            CHECK(rank.x[i] == doctest::Approx(1.0).epsilon(0.3));
        }
    }
}

TEST_CASE("SparseLoCo by senders: a meeting -> the mean over its senders") {
    constexpr int ranks = 3, H = 4, meetings = 20;
    auto outer = sparse_loco_of_senders(2, 0.5);
    outer.compressor.inner.inner.chunk = 5;
    const auto left =
        pull(local_updates{sgd{.learning_rate = 0.25}, outer, {.every = H}}, ranks, meetings * H);
    const pulled model(0);
    auto state = outer.compressor.inner.inner.bind(model.layout());
    std::vector<double> theta(12);
    std::vector<std::vector<double>> e(ranks, theta);
    bool differs = false;
    for (int meeting = 0; meeting < meetings; ++meeting) {
        std::vector<double> sum(12), senders(12);
        for (int rank = 0; rank < ranks; ++rank) {
            auto& mine = e[static_cast<std::size_t>(rank)];
            for (std::size_t i = 0; i < 12; ++i) {
                double x = theta[i];
                for (int step = 0; step < H; ++step) x -= 0.25 * (x - rank);
                mine[i] = 0.95 * mine[i] + (theta[i] - x) / ranks;
            }
            const std::vector<float> rounded(mine.begin(), mine.end());
            std::vector<float> sent(12);
            for (const tensor& t : model.layout()) {
                bytes message;
                state.encode(t, t.of(std::span<const float>(rounded)), message);
                state.decode_add(t, message, t.of(std::span(sent)));
            }
            for (std::size_t i = 0; i < 12; ++i) {
                mine[i] -= double{sent[i]};
                sum[i] += double{sent[i]};
                senders[i] += sent[i] != 0.0f;
            }
        }
        for (std::size_t i = 0; i < 12; ++i) {
            differs |= senders[i] > 0 && senders[i] < ranks;
            if (senders[i] > 0) theta[i] -= 0.5 * sum[i] * ranks / senders[i];
        }
    }
    CHECK(differs);
    for (const ended& rank : left) {
        CHECK(rank.x == left[0].x);
        for (std::size_t i = 0; i < 12; ++i)
            CHECK(rank.x[i] == doctest::Approx(theta[i]).epsilon(1e-3));
    }
}

TEST_CASE("ranks send nothing between meetings, and the last steps are not left alone") {
    constexpr int ranks = 2, H = 5;
    std::vector<std::int64_t> sent;
    run_in_process(ranks, [&](auto& transport) {
        pulled model(transport.rank());
        trainer trainer{
            model, local_updates{sgd{}, mean, {.every = H}}, transport, {.batch_size = 1}};
        trainer.fit(numbered{ranks}, epochs{12}, [&](const step_report& step) {
            if (transport.rank() == 0) sent.push_back(step.round.bytes_sent);
            CHECK((step.round.message_bytes > 0) == (step.step % H == 0));
        });
        CHECK(trainer.state().meetings() == 3);  // after 5, 10 and at the end
        const auto mean_of_two = trainer.parameters()[0];
        CHECK(mean_of_two == doctest::Approx(0.5 * (1.0 - std::pow(0.9, 12))).epsilon(1e-5));
    });
    REQUIRE(sent.size() == 12);
    for (std::size_t i = 0; i < 12; ++i) CHECK((sent[i] > 0) == ((i + 1) % H == 0));
}

TEST_CASE("local steps: two calls of fit, first ends as due -> one call") {
    constexpr int ranks = 3;
    const auto after = [](std::int64_t every, std::vector<std::int64_t> calls) {
        std::vector<float> left;
        run_in_process(ranks, [&](in_process& transport) {
            pulled model(transport.rank());
            const momentum_sgd own{.learning_rate = 0.125};
            trainer trainer{model,
                            local_updates{own, diloco(), {.every = every}},
                            transport,
                            {.batch_size = 1}};
            for (const std::int64_t count : calls)
                trainer.fit(numbered{2 * ranks}, epochs{count});  // two steps each
            if (transport.rank() == 1)
                left.assign(trainer.parameters().begin(), trainer.parameters().end());
        });
        return left;
    };
    for (const std::int64_t every : {1, 2, 4}) {
        CAPTURE(every);
        CHECK(after(every, {2, 2}) == after(every, {4}));
    }
    // One more meeting, of a single step, at the end of the first call.
    CHECK(after(3, {2, 2}) != after(3, {4}));
    CHECK(after(3, {3, 1}) == after(3, {4}));
}

TEST_CASE("local steps: last callbacks -> before and after the meeting") {
    run_in_process(2, [](in_process& transport) {
        pulled model(transport.rank());
        trainer trainer{
            model, local_updates{sgd{}, mean, {.every = 1000}}, transport, {.batch_size = 1}};
        std::vector<float> of_steps, of_epochs;
        const auto see_step = [&](const step_report&) {
            of_steps.push_back(trainer.parameters()[0]);
        };
        const auto see_epoch = [&](const epoch_report&) {
            of_epochs.push_back(trainer.parameters()[0]);
        };
        trainer.fit(numbered{2}, epochs{2}, see_step, see_epoch);
        REQUIRE(of_steps.size() == 2);
        REQUIRE(of_epochs.size() == 2);
        CHECK(of_epochs[0] == of_steps[0]);
        CHECK(of_epochs[1] == trainer.parameters()[0]);
        CHECK(of_epochs[1] != of_steps[1]);
        CHECK((of_steps[1] == 0.0f) == (transport.rank() == 0));  // rank 0 stays where it began
    });
}

TEST_CASE("the meeting that ends fit counts in its bytes, its epoch's and its log's") {
    constexpr std::int64_t a_meeting = 4 * 12;  // of 12 parameters: of two ranks each sends all
    run_in_process(2, [&](auto& transport) {
        pulled model(transport.rank());
        trainer trainer{
            model, local_updates{sgd{}, mean, {.every = 1000}}, transport, {.batch_size = 1}};
        std::vector<std::int64_t> of_epochs;
        std::int64_t of_steps = 0;
        run_recorder recorder;
        const auto keep = [&](const epoch_report& e) { of_epochs.push_back(e.total.bytes_sent); };
        const auto add = [&](const step_report& s) { of_steps += s.round.bytes_sent; };
        const fit_report whole = trainer.fit(numbered{2}, epochs{3}, keep, add, recorder);
        CHECK(of_steps == 0);
        REQUIRE(of_epochs.size() == 3);
        CHECK(of_epochs[0] + of_epochs[1] == 0);
        CHECK(of_epochs[2] >= a_meeting);
        CHECK(whole.total.bytes_sent == of_epochs[2]);
        CHECK(whole.total.message_bytes == a_meeting);
        CHECK(recorder.log().total.bytes_sent == static_cast<double>(whole.total.bytes_sent));

        // Where a callback ends it no epoch is left to tell.
        const auto stop = [](const epoch_report&) { return fit_control::stop; };
        const fit_report stopped = trainer.fit(numbered{2}, epochs{3}, stop, recorder);
        CHECK(stopped.steps == 1);
        CHECK(stopped.total.bytes_sent == whole.total.bytes_sent);
        CHECK(recorder.log().total.bytes_sent == static_cast<double>(2 * whole.total.bytes_sent));
    });
}

TEST_CASE("post-local SGD meets after every step until its epoch") {
    run_in_process(2, [](auto& transport) {
        pulled model(transport.rank());
        trainer trainer{model,
                        local_updates{sgd{}, mean, {.every = 4, .from_epoch = 6.0}},
                        transport,
                        {.batch_size = 1}};
        std::vector<std::int64_t> met;
        trainer.fit(numbered{2}, epochs{14}, [&](const step_report& step) {
            if (step.round.message_bytes > 0) met.push_back(step.step);
        });
        CHECK(met == std::vector<std::int64_t>{1, 2, 3, 4, 5, 6, 10, 14});
    });
}

TEST_CASE("what a compressor keeps of a way is sent later, and any strategy can be the outer one") {
    const sparsified few{top_k{.density = 0.2}, residual{}};
    const auto left = pull(
        local_updates{
            sgd{.learning_rate = 0.1}, all_reduce{sgd{.learning_rate = 1.0}, few}, {.every = 3}},
        3, 600);
    for (const ended& rank : left) {
        CHECK(rank.x == left[0].x);
        for (const float x : rank.x) CHECK(x == doctest::Approx(1.0).epsilon(0.3));
    }
    const auto mixed = pull(local_updates{sgd{.learning_rate = 0.1},
                                          gossip{sgd{.learning_rate = 1.0}, topologies::complete{}},
                                          {.every = 3}},
                            3, 300);
    for (const ended& rank : mixed)
        for (const float x : rank.x) CHECK(x == doctest::Approx(1.0).epsilon(1e-3));
}

TEST_CASE("NoLoCo follows its recursion in pairs, and alone where ranks are odd") {
    constexpr int ranks = 5, H = 3, meetings = 6;
    const noloco by{.momentum = 0.5, .rate = 0.7, .pull = 0.7, .seed = 4};
    const auto left =
        pull(local_updates{sgd{.learning_rate = 0.25}, by, {.every = H}}, ranks, meetings * H);
    auto pairs = topologies::random_matching{4}.bind(ranks);
    std::vector<double> phi(ranks), m(ranks);
    for (int meeting = 0; meeting < meetings; ++meeting) {
        std::vector<double> way(ranks), next = phi;
        for (std::size_t i = 0; i < ranks; ++i) {
            double x = phi[i];
            for (int step = 0; step < H; ++step) x -= 0.25 * (x - static_cast<double>(i));
            way[i] = phi[i] - x;
        }
        for (int i = 0; i < ranks; ++i) {
            const auto me = static_cast<std::size_t>(i);
            const auto other = pairs.matrix(meeting).into(i);
            const auto with = other.empty() ? me : static_cast<std::size_t>(other[0].rank);
            m[me] = 0.5 * m[me] - 0.7 * (way[me] + way[with]) / 2 +
                    0.7 * ((phi[me] + phi[with]) / 2 - phi[me]);
            next[me] += m[me];
        }
        phi = next;
    }
    for (std::size_t i = 0; i < ranks; ++i)
        for (const float x : left[i].x) CHECK(x == doctest::Approx(phi[i]).epsilon(1e-5));
    CHECK(left[0].x != left[1].x);
}

TEST_CASE("NoLoCo by messages of whole ways goes where it goes without") {
    const noloco pairs{.seed = 4};
    const auto whole = pull(local_updates{sgd{.learning_rate = 0.25}, pairs, {.every = 3}}, 5, 18);
    const auto found = pull(
        local_updates{sgd{.learning_rate = 0.25}, compressed_pairs{fp16{}, pairs}, {.every = 3}}, 5,
        18);
    for (std::size_t i = 0; i < 5; ++i)
        for (std::size_t k = 0; k < 8; ++k)
            CHECK(found[i].x[k] == doctest::Approx(whole[i].x[k]).epsilon(2e-3));
}

TEST_CASE("NoLoCo sends what a compressor leaves out in later meetings") {
    // Without a pull, and with all in one pair, ranks stay together and go by the mean of what was
    // sent: after enough meetings that is all that they have come.
    const noloco pairs{.momentum = 0.0, .rate = 0.5, .pull = 1.0};
    const error_feedback few{top_k{.density = 0.2}};
    const auto left =
        pull(local_updates{sgd{.learning_rate = 0.1}, compressed_pairs{few, pairs}, {.every = 3}},
             2, 600);
    for (const ended& rank : left)
        for (const float x : rank.x) CHECK(x == doctest::Approx(0.5).epsilon(0.1));
    for (std::size_t k = 0; k < 8; ++k)
        CHECK(left[0].x[k] == doctest::Approx(left[1].x[k]).epsilon(1e-5));
    // Where they began goes whole, half of all there was.
    const auto sent = [](const auto& outer) {
        const local_updates strategy{sgd{}, outer, {.every = 3}};
        return static_cast<double>(train(2, strategy)[0].report.total.message_bytes);
    };
    const error_feedback fewer{top_k{.density = 0.05}};
    CHECK(sent(compressed_pairs{fewer, pairs}) < 0.65 * sent(pairs));
}

TEST_CASE_TEMPLATE("local_updates: a meeting fails and is tried again -> as if it had not",
                   Optimizer, sgd, momentum_sgd, adamw) {
    // Every second step is followed by a meeting. The second meeting fails, in step 4.
    struct left_by {
        std::vector<float> parameters;
        testing::snapshot remembered;
    };
    const auto run = [](bool fails) {
        int failures = fails ? 1 : 0;
        left_by left;
        run_in_process(1, [&](auto& transport) {
            number_model model;
            model.pull = 0.25f;
            const local_updates strategy{Optimizer{.learning_rate = 0.0625},
                                         all_reduce{fragile_outer{1, &failures}},
                                         {.every = 2}};
            trainer trainer{model, strategy, transport, {.batch_size = 4}};
            if (fails)
                CHECK_THROWS_WITH_AS(trainer.fit(numbered{40}, steps{8}), "no meeting",
                                     std::runtime_error);
            CHECK(trainer.state().meetings() == (fails ? 1 : 0));
            trainer.fit(numbered{40}, steps{fails ? 5 : 8});
            CHECK(trainer.state().meetings() == 4);
            left.parameters.assign(trainer.parameters().begin(), trainer.parameters().end());
            left.remembered = testing::snapshot(trainer.state());
        });
        return left;
    };
    const left_by disturbed = run(true), twin = run(false);
    CHECK(disturbed.parameters == twin.parameters);
    CHECK(disturbed.remembered == twin.remembered);
}

TEST_CASE_TEMPLATE("local_updates: a meeting fails -> ranks are as after their last step",
                   Optimizer, momentum_sgd, adamw) {
    int failures = 1000;
    CHECK_THROWS_WITH_AS(
        run_in_process(3,
                       [&](auto& transport) {
                           number_model model;
                           model.pull = 0.25f;
                           const local_updates strategy{Optimizer{.learning_rate = 0.0625},
                                                        all_reduce{fragile_outer{1, &failures}},
                                                        {.every = 2}};
                           trainer trainer{model, strategy, transport, {.batch_size = 4}};
                           testing::snapshot after(trainer.state());
                           std::vector<float> parameters;
                           std::int64_t done = 0;
                           try {
                               trainer.fit(numbered{120}, steps{8}, [&](const step_report& step) {
                                   after = testing::snapshot(trainer.state());
                                   parameters.assign(trainer.parameters().begin(),
                                                     trainer.parameters().end());
                                   done = step.step;
                               });
                           } catch (...) {
                               CHECK(done == 3);
                               CHECK(testing::snapshot(trainer.state()) == after);
                               CHECK(std::ranges::equal(trainer.parameters(), parameters));
                               throw;
                           }
                       }),
        "no meeting", std::runtime_error);
}

TEST_CASE("options that cannot be are refused by name") {
    CHECK_THROWS_WITH(train(1, local_updates{sgd{}, mean, {.every = 0}}),
                      "local_updates: every is 0; it must be at least 1");
    CHECK_THROWS_WITH(train(1, local_updates{sgd{}, noloco{.momentum = 1.0}}),
                      "noloco: momentum is 1; it must be at least 0 and below 1");
    CHECK_THROWS_WITH(train(1, local_updates{sgd{}, noloco{.pull = -1.0}}),
                      "noloco: pull is -1; it must be finite and at least 0");
    constexpr double infinity = std::numeric_limits<double>::infinity();
    CHECK_THROWS_WITH(train(1, local_updates{sgd{}, noloco{.pull = infinity}}),
                      "noloco: pull is inf; it must be finite and at least 0");
    CHECK_THROWS_WITH(train(1, local_updates{sgd{}, noloco{.rate = infinity}}),
                      "noloco: rate is inf; it must be finite and at least 0");
    CHECK_THROWS_WITH(train(1, local_updates{sgd{}, mean, {.from_epoch = -1.0}}),
                      "local_updates: from_epoch is -1; it must be finite and at least 0");
}
