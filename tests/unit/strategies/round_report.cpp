// When a tensor was computed, sent, here and added up: in virtual time, by the links' own sums.

#include "sotto/strategies/round_report.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "sotto/collectives/detail/fitting.hpp"
#include "sotto/compressors/dgc.hpp"
#include "sotto/compressors/none.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/logging/detail/round_times.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "support/all_policies.hpp"
#include "support/numbers.hpp"
#include "support/sensible.hpp"
#include "support/throttled.hpp"
#include "support/training.hpp"

using namespace sotto;
using namespace std::chrono_literals;

namespace {

/// A round_report whose tensors' times stay.
struct seen_round {
    round_report report;
    std::vector<detail::tensor_times> times;
    detail::round_times in_seconds;
};

struct keep_last {
    seen_round& last;
    void on_step(const step_report& step) {
        last.report = step.round;
        last.times.assign(step.round.tensor_times.begin(), step.round.tensor_times.end());
        last.in_seconds.take(step);
    }
};

const all_reduce each_alone{sgd{}, none{}, detail::collectives::fitting{}, 0};

/// Three tensors of 4000 bytes each.
layout three_tensors() {
    layout tensors;
    for (const char* name : {"first", "second", "third"}) tensors.add(name, {10, 100});
    return tensors;
}

/// Has something to do while gradients travel.
struct busy_meanwhile : testing::number_model {
    using testing::number_model::number_model;
    std::function<void()> work{};

    void meanwhile(auto&& advance) {
        work();
        advance();
    }
};

/// The second step of two ranks. Each tensor takes 10 ms to be computed; a link carries 4000 bytes
/// in 4 ms, and a message arrives 1 ms after its last byte left. What a model does meanwhile takes
/// 10 ms.
template <class Model = testing::number_model, class Strategy>
std::vector<seen_round> on_slow_links(const Strategy& strategy,
                                      testing::announces order = testing::announces::last_to_first,
                                      std::int64_t examples_of_last = 8) {
    constexpr int world = 2;
    testing::slow_network network(world, 1e6, 0.001);
    std::vector<seen_round> seen(world);
    run_in_process(world, [&](in_process& inner) {
        testing::throttled transport(inner, network);
        Model model(three_tensors());
        model.order = order;
        if constexpr (requires { model.work; }) model.work = [&] { transport.spend(10ms); };
        model.on_progress = [&](int announced) {
            const bool all_at_once = order == testing::announces::none;
            if (announced < 3) transport.spend(all_at_once ? 30ms : 10ms);
        };
        trainer trainer{model, strategy, transport, {.batch_size = 4}};
        const int rank = transport.rank();
        const testing::numbered own{rank == 0 ? 8 : examples_of_last, 8 * rank};
        trainer.fit(local_data{own}, steps{2}, keep_last{seen[static_cast<std::size_t>(rank)]});
    });
    return seen;
}

/// Announces its second tensor once more when it is done.
struct announces_twice : testing::number_model {
    double gradient(std::span<const float> parameters, const batch_type& batch,
                    std::span<float> out, auto&& on_ready) {
        const double loss = testing::number_model::gradient(parameters, batch, out, on_ready);
        on_ready(layout().tensors()[1]);
        return loss;
    }
};

void check_order(const seen_round& seen) {
    const round_report& round = seen.report;
    for (const detail::tensor_times& t : seen.times) {
        CHECK(t.ready <= t.left);
        CHECK(t.left <= t.arrived);
        CHECK(t.arrived <= t.decoded);
        CHECK(t.decoded <= round.agreed);
    }
    CHECK(round.agreed <= round.ended);
    CHECK(round.hidden <= round.exchange);
    CHECK(round.exchange <= round.agreed);
    // Whoever has the times alone finds the same overlap.
    const detail::overlap found = overlap_of(seen.in_seconds);
    if (round.exchange > 0ns) {
        CHECK(found.exchange == doctest::Approx(in_seconds(round.exchange)));
        CHECK(found.hidden == doctest::Approx(in_seconds(round.hidden)));
    }
}

}  // namespace

TEST_CASE("a tensor is on its way before the next is computed, and only the last is waited for") {
    for (const seen_round& seen : on_slow_links(each_alone)) {
        check_order(seen);
        REQUIRE(seen.times.size() == 3);
        const auto &first = seen.times[0], &second = seen.times[1], &third = seen.times[2];
        CHECK(third.ready == 10ms);
        CHECK(third.left == 10ms);
        CHECK(third.left < second.ready);
        // It was here after 15 ms; this rank looks when the next tensor is ready. The rank that has
        // the first turn does so before the other one has computed anything.
        CHECK((third.arrived == 20ms || third.arrived == 30ms));
        CHECK(second.ready == 20ms);
        CHECK(second.left == 20ms);
        CHECK(second.arrived == 30ms);
        CHECK(first.ready == 30ms);
        CHECK(first.left == 30ms);
        CHECK(first.arrived == 30ms + 4ms + 1ms);
        for (const detail::tensor_times& t : seen.times) CHECK(t.decoded == 35ms);
        CHECK(seen.report.agreed == 35ms + 2ms);  // a vote costs two latencies
        CHECK(seen.report.ended == 37ms);
        CHECK(seen.report.compute == 30ms);
        CHECK(seen.report.wait == 7ms);
        CHECK(seen.report.exchange == 25ms);
        CHECK(seen.report.hidden == 20ms);
    }
}

TEST_CASE("what the model announces only when it is done hides nothing") {
    for (const seen_round& seen : on_slow_links(each_alone, testing::announces::none)) {
        check_order(seen);
        for (const detail::tensor_times& t : seen.times) {
            CHECK(t.ready == 30ms);
            CHECK(t.left == 30ms);
            CHECK(t.arrived <= 30ms + 12ms + 1ms);
        }
        CHECK(seen.times[0].arrived == 43ms);  // sent last: behind the two others
        CHECK(seen.report.exchange == 13ms);
        CHECK(seen.report.hidden == 0ns);
    }
}

TEST_CASE("what the model does while its gradients travel delays none of them") {
    for (const seen_round& seen :
         on_slow_links<busy_meanwhile>(each_alone, testing::announces::none)) {
        check_order(seen);
        for (const detail::tensor_times& t : seen.times) CHECK(t.left == 30ms);
        CHECK(seen.times[0].arrived == 43ms);
        CHECK(seen.report.compute == 40ms);
        CHECK(seen.report.exchange == 13ms);
        CHECK(seen.report.agreed == 45ms);  // as without it
    }
}

TEST_CASE("tensors that travel together leave when the last of them is packed") {
    all_reduce two_by_two = each_alone;
    two_by_two.bucket_bytes = 8000;
    for (const seen_round& seen : on_slow_links(two_by_two)) {
        check_order(seen);
        const auto &first = seen.times[0], &second = seen.times[1], &third = seen.times[2];
        CHECK(third.ready == 10ms);
        CHECK(third.left == 20ms);
        CHECK(second.left == 20ms);
        CHECK(second.arrived == third.arrived);
        CHECK(first.left == 30ms);
        CHECK(first.arrived == 20ms + 8ms + 1ms + 6ms);  // the link was free at 28 ms
        CHECK(seen.report.message_bytes == 12000);
        CHECK(seen.report.exchange == 15ms);
    }
}

TEST_CASE("clipping by the norm of the model sends nothing before all is computed") {
    const dgc clipped{
        .density = 0.5, .warm_up_epochs = 0, .clip_norm = 1.0, .clip = local_clipping::per_model};
    for (const seen_round& seen : on_slow_links(all_reduce{sgd{}, clipped})) {
        check_order(seen);
        CHECK(seen.times[2].ready == 10ms);
        CHECK(seen.times[1].ready == 20ms);
        for (const detail::tensor_times& t : seen.times) CHECK(t.left == 30ms);
        CHECK(seen.report.hidden == 0ns);
        CHECK(seen.report.exchange > 0ns);
    }
}

TEST_CASE("a rank without data computes nothing, and waits for the one that has some") {
    const auto ranks = on_slow_links(each_alone, testing::announces::last_to_first, 0);
    for (const seen_round& seen : ranks) check_order(seen);
    for (const detail::tensor_times& t : ranks[1].times) {
        CHECK(t.ready == 0ns);
        CHECK(t.left == 0ns);
    }
    CHECK(ranks[1].report.hidden == 0ns);
    CHECK(ranks[0].report.hidden > 0ns);
    CHECK(ranks[1].report.agreed == ranks[0].report.agreed);
}

TEST_CASE("one rank exchanges nothing") {
    seen_round seen;
    run_in_process(1, [&](in_process& transport) {
        testing::number_model model;
        trainer trainer{model, all_reduce{sgd{}}, transport, {.batch_size = 4}};
        trainer.fit(testing::numbered{8}, steps{2}, keep_last{seen});
    });
    check_order(seen);
    CHECK(seen.report.exchange == 0ns);
    CHECK(seen.report.hidden == 0ns);
}

TEST_CASE_TEMPLATE_DEFINE("times are in order, whichever way messages go", S, times_are_in_order) {
    for (const int world : {2, 3}) {
        std::vector<seen_round> seen(static_cast<std::size_t>(world));
        std::vector<duration> exchange(seen.size()), hidden(seen.size());
        run_in_process(world, [&](in_process& transport) {
            testing::number_model model;
            trainer trainer{model, testing::sensible<S>::options(), transport, {.batch_size = 4}};
            const auto rank = static_cast<std::size_t>(transport.rank());
            const auto each = [&](const step_report& step) {
                keep_last{seen[rank]}.on_step(step);
                exchange[rank] += step.round.exchange;
                hidden[rank] += step.round.hidden;
            };
            const fit_report whole = trainer.fit(testing::numbered{48}, epochs{1}, each);
            CHECK(whole.total.exchange == exchange[rank]);
            CHECK(whole.total.hidden == hidden[rank]);
        });
        for (const seen_round& each : seen) {
            check_order(each);
            REQUIRE(each.times.size() == 4);
            CHECK(each.times[2].arrived == each.times[2].left);  // it is empty
        }
    }
}
TEST_CASE_TEMPLATE_APPLY(times_are_in_order, testing::strategies_of_each_kind);

TEST_CASE("a tensor that is announced twice is refused, whenever it would be sent") {
    for (const auto scope : {local_clipping::per_tensor, local_clipping::per_model})
        run_in_process(1, [&](in_process& transport) {
            announces_twice model;
            const dgc compressor{.clip_norm = 1.0, .clip = scope};
            trainer trainer{model, all_reduce{sgd{}, compressor}, transport, {.batch_size = 4}};
            CHECK_THROWS_WITH_AS(trainer.fit(testing::numbered{8}, steps{1}),
                                 "all_reduce: the model announced tensor 'first.bias' twice; once "
                                 "its gradient is announced it must be final",
                                 invalid_option);
        });
}
