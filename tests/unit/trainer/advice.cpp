#include "sotto/trainer/advice.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sotto/collectives/halving_doubling.hpp"
#include "sotto/collectives/ring.hpp"
#include "sotto/collectives/tree.hpp"
#include "sotto/compressors/dgc.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/trainer/advice_calibration.hpp"
#include "sotto/trainer/advice_link.hpp"
#include "sotto/trainer/run_recorder.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "support/numbers.hpp"
#include "support/throttled.hpp"

using namespace sotto;
using doctest::Approx;

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

way_to_send dense_way(double bytes, double messages = 0.0) {
    return {.name = "whole gradients",
            .message_bytes = bytes,
            .transfer = {bytes, messages},
            .dense = true};
}
way_to_send sparse_way(double bytes, double compress, double messages = 0.0) {
    return {.name = "sparse",
            .compress_seconds = compress,
            .message_bytes = bytes,
            .transfer = {bytes, messages}};
}

/// The most values that a rank sends, and its most steps, by the plan itself.
template <class Plan>
std::pair<double, double> counted_by_plan(int world, std::int64_t values) {
    std::int64_t most = 0;
    int steps = 0;
    for (int rank = 0; rank < world; ++rank) {
        Plan plan(rank, world);
        plan.begin(values);
        std::int64_t sent = 0;
        for (int k = 0; k < plan.steps(); ++k)
            if (const collectives::step s = plan.at(k); s.to != collectives::nobody)
                sent += s.out.size();
        most = std::max(most, sent);
        steps = std::max(steps, plan.steps());
    }
    return {static_cast<double>(most), static_cast<double>(steps)};
}

}  // namespace

TEST_CASE("the cost model counts what the plans send") {
    using collectives::algorithm;
    for (const int world : {2, 4, 8, 16}) {
        const std::int64_t values = 48 * world;
        const auto [ring, ring_steps] = counted_by_plan<collectives::ring_plan>(world, values);
        const auto by_ring =
            all_reduce_cost(values, world, wire::value_format::fp32, algorithm::ring);
        CHECK(by_ring.bytes == Approx(4.0 * ring));
        CHECK(by_ring.bytes == Approx(2.0 * (world - 1) / world * 4.0 * double(values)));
        CHECK(by_ring.messages == ring_steps);
        const auto [halves, half_steps] =
            counted_by_plan<collectives::halving_doubling_plan>(world, values);
        const auto by_halves =
            all_reduce_cost(values, world, wire::value_format::fp16, algorithm::halving_doubling);
        CHECK(by_halves.bytes == Approx(2.0 * halves));
        CHECK(by_halves.messages == half_steps);
        const auto by_tree =
            all_reduce_cost(values, world, wire::value_format::fp32, algorithm::tree);
        CHECK(by_tree.messages == 2.0 * std::log2(world));
    }
    // Three ranks more than a power of two: its ranks' partners send and get all values once.
    const auto [sent, steps] = counted_by_plan<collectives::halving_doubling_plan>(7, 48);
    const auto folded =
        all_reduce_cost(48, 7, wire::value_format::fp32, algorithm::halving_doubling);
    CHECK(folded.messages == steps);
    CHECK(folded.bytes >= 4.0 * sent);
    CHECK(all_reduce_cost(1 << 20, 4).messages == 6.0);  // the automatic choice: a ring
    CHECK(all_reduce_cost(1 << 10, 4).messages == 4.0);  // halves
    CHECK(all_reduce_cost(1000, 1).bytes == 0.0);
    CHECK(all_gather_cost(100.0, 5).bytes == 400.0);
    CHECK(all_gather_cost(100.0, 5).messages == 4.0);
    CHECK(all_gather_cost(100.0, 5, false).messages == 1.0);
    CHECK(all_gather_cost(100.0, 1).bytes == 0.0);
}

TEST_CASE("exchanges under way together share the link, but not their latencies") {
    transfer_cost both{100.0, 6.0};
    both += {50.0, 3.0};
    CHECK(both.bytes == 150.0);
    CHECK(both.messages == 6.0);
    CHECK(both.seconds({.bytes_per_second = 50.0, .latency_seconds = 0.5}) == 6.0);
}

TEST_CASE("a step is compute, compress, bytes over bandwidth and messages times latency") {
    const network_link link{.bytes_per_second = 1000.0, .latency_seconds = 0.01};
    const std::array ways{dense_way(4000.0, 6.0), sparse_way(400.0, 0.5, 3.0)};
    const advice found = advise(2.0, link, 4, ways);
    CHECK(found.steps[0].transfer_seconds == Approx(4.06));
    CHECK(found.steps[0].step_seconds == Approx(6.06));
    CHECK(found.steps[1].step_seconds == Approx(2.0 + 0.5 + 0.4 + 0.03));
    CHECK(found.best == 1);
    CHECK(found.dense == 0);
    CHECK(
        found.sentence ==
        "Use sparse: a step takes 2.93\u202fs instead of 6.06\u202fs (2.1\u202f× as fast), because "
        "whole gradients would spend 67\u202f% of it on the network and compressing costs "
        "500\u202fms.");
    // Equal where (4000 - 400) / B = 0.5 - 3 * 0.01.
    CHECK(found.steps[1].pays_below_bytes_per_second == Approx(3600.0 / 0.47));
    network_link crossing = link;
    crossing.bytes_per_second = found.steps[1].pays_below_bytes_per_second;
    CHECK(predicted_seconds(2.0, ways[0], crossing) ==
          Approx(predicted_seconds(2.0, ways[1], crossing)));
}

TEST_CASE("what pays always, never, and below a bandwidth") {
    CHECK(crossover_bytes_per_second(dense_way(100.0), sparse_way(10.0, 0.0), 1.0) == infinite);
    CHECK(crossover_bytes_per_second(dense_way(100.0, 6.0), sparse_way(10.0, 1.0, 3.0), 1.0) ==
          infinite);  // three latencies are worth more than compressing costs
    CHECK(crossover_bytes_per_second(dense_way(100.0), sparse_way(100.0, 1.0), 1.0) == 0.0);
    CHECK(crossover_bytes_per_second(dense_way(100.0), sparse_way(200.0, 1.0), 1.0) == 0.0);
    CHECK(crossover_bytes_per_second(dense_way(100.0), sparse_way(10.0, 3.0), 1.0) == Approx(30.0));
}

TEST_CASE("a fast link is told to send whole gradients, and from where on compression would pay") {
    const std::array ways{dense_way(1000.0), sparse_way(10.0, 1.0)};
    const advice found = advise(10.0, {.bytes_per_second = 1e6, .latency_seconds = 0.0}, 2, ways);
    CHECK(found.best == found.dense);
    CHECK(found.sentence.starts_with("Send whole gradients: they spend 0\u202f% of a step"));
    CHECK(found.sentence.find("compression breaks even below 7.92\u202fkbit/s.") !=
          std::string::npos);
    // A gain below 5 % is not worth it either, nor is sending less than what is as fast.
    const std::array sparser{dense_way(1000.0), sparse_way(20.0, 0.0), sparse_way(10.0, 0.0)};
    CHECK(advise(1.0, {.bytes_per_second = 500.0, .latency_seconds = 0.0}, 2, sparser).best == 1);
    CHECK(advise(1.0, {.bytes_per_second = 10.0, .latency_seconds = 0.0}, 2, sparser).best == 2);
    const std::array nearly{dense_way(1000.0), sparse_way(600.0, 0.0)};
    CHECK(advise(10.0, {.bytes_per_second = 1000.0, .latency_seconds = 0.0}, 2, nearly).best == 0);
    const advice alone = advise(1.0, {}, 1, ways);
    CHECK(alone.sentence.find("nobody to send gradients to") != std::string::npos);
}

TEST_CASE("what cannot be advised on is refused by name") {
    const std::array ways{dense_way(1.0), sparse_way(1.0, 0.0)};
    CHECK_THROWS_WITH_AS(advise(1.0, {.bytes_per_second = 0.0}, 2, ways),
                         "advise: bytes_per_second is 0.000000; it must be above 0 and finite",
                         invalid_option);
    CHECK_THROWS_AS(advise(1.0, {.latency_seconds = -1.0}, 2, ways), invalid_option);
    CHECK_THROWS_AS(advise(std::nan(""), {}, 2, ways), invalid_option);
    CHECK_THROWS_AS(advise(1.0, {}, 0, ways), invalid_option);
    const std::array none_dense{sparse_way(1.0, 0.0)};
    CHECK_THROWS_WITH_AS(
        advise(1.0, {}, 2, none_dense),
        "advise: 0 of the ways to send are dense; the others are compared with one",
        invalid_option);
}

TEST_CASE("calibrated ways send what the compressors send") {
    layout tensors;
    tensors.add("w", {200, 100}).add("b", {100}, tensor_kind::bias);
    const auto ways = usual_ways(tensors, 4, {.rounds = 1});
    REQUIRE(ways.size() == 8);
    CHECK(ways[0].dense);
    CHECK(ways[0].message_bytes == 4.0 * 20100.0);
    CHECK(ways[0].transfer.bytes == Approx(1.5 * 4.0 * 20000.0 + all_reduce_cost(100, 4).bytes));
    CHECK(ways[1].message_bytes == 2.0 * 20100.0);
    for (const way_to_send& way : ways) CHECK(way.compress_seconds > 0.0);
    for (std::size_t i = 2; i < ways.size(); ++i) {
        CHECK_FALSE(ways[i].dense);
        CHECK(ways[i].transfer.bytes < ways[0].transfer.bytes);
    }
    CHECK(ways[2].message_bytes > ways[3].message_bytes);
    CHECK(ways[3].message_bytes > ways[4].message_bytes);
    CHECK_THROWS_AS(calibrate("x", none{}, tensors, 0), invalid_option);
    const advice found = advise(0.001, {.bytes_per_second = 1e5}, 4, tensors, {.rounds = 1});
    CHECK(found.best != found.dense);  // 0.6 s of whole gradients a step
}

TEST_CASE("a link is measured as it is, and all ranks know it") {
    for (const int world : {2, 4}) {
        testing::slow_network network(world, 2e6, 0.003);
        std::vector<network_link> found(static_cast<std::size_t>(world));
        run_in_process(world, [&](in_process& inner) {
            testing::throttled transport(inner, network);
            found[static_cast<std::size_t>(transport.rank())] = measure_link(transport);
        });
        for (const network_link& link : found) {
            CHECK(link.bytes_per_second / 2e6 == Approx(1.0).epsilon(1e-4));
            CHECK(link.latency_seconds / 0.003 == Approx(1.0).epsilon(1e-4));
        }
    }
    CHECK_THROWS_WITH_AS(run_in_process(1, [](in_process& alone) { measure_link(alone); }),
                         "measure_link: there is one rank; a link needs two", invalid_option);
}

namespace {

// Virtual time passes where it would on a real machine: in the model, and in the compressor.
thread_local std::function<void(double)> pass_seconds = [](double) {};

/// DGC that takes a given time for each tensor it encodes.
struct slow_dgc : dgc {
    double seconds_a_tensor = 0.0;

    class state : public dgc::composition::state {
    public:
        state(const slow_dgc& options, const layout& tensors)
            : dgc::composition::state(options.dgc::bind(tensors)),
              seconds_(options.seconds_a_tensor) {}
        void encode(const tensor& t, std::span<const float> gradient, bytes& out) {
            pass_seconds(seconds_);
            dgc::composition::state::encode(t, gradient, out);
        }

    private:
        double seconds_;
    };
    state bind(const layout& tensors) const { return {*this, tensors}; }
};

constexpr double computing = 0.004;

struct measured {
    network_link link;
    double step_seconds = 0.0;
    double compute_seconds = 0.0;
};

/// Steps of four ranks over a slow network, in its own time.
template <class Strategy>
measured measure_steps(const Strategy& strategy, const layout& tensors, double rate,
                       double latency) {
    constexpr int world = 4;
    testing::slow_network network(world, rate, latency);
    measured found;
    run_in_process(world, [&](in_process& inner) {
        testing::throttled transport(inner, network);
        pass_seconds = [&](double seconds) { transport.charge({.flops = 1e9 * seconds}); };
        const network_link link = measure_link(transport);
        testing::number_model model(tensors);
        model.on_progress = [&](int announced) {
            if (announced == 0) pass_seconds(computing);
        };
        trainer trainer{model, strategy, transport, {.batch_size = 4}};
        run_recorder recorder;
        trainer.fit(testing::numbered{96}, steps{12}, recorder);
        pass_seconds = [](double) {};
        if (transport.rank() != 0) return;
        const run_costs& total = recorder.log().total;
        const auto count = static_cast<double>(recorder.log().steps);
        found = {link, total.seconds() / count, (total.load + total.compute + total.apply) / count};
    });
    return found;
}

}  // namespace

TEST_CASE("steps over an artificial link take what was predicted, dense and by DGC") {
    layout tensors;
    tensors.add("first", {400, 600}).add("bias", {600}, tensor_kind::bias);
    const slow_dgc compressor{{.density = 0.01, .momentum = 0.9, .warm_up_epochs = 0.0}, 0.002};
    std::vector<way_to_send> ways{calibrate("whole gradients", none{}, tensors, 4, {.rounds = 1}),
                                  calibrate("DGC", compressor, tensors, 4, {.rounds = 1})};
    ways[0].dense = true;
    ways[0].compress_seconds = 0.0;    // in virtual time nothing takes longer
    ways[1].compress_seconds = 0.002;  // than what is charged for the matrix
    for (const auto& [rate, latency] :
         {std::pair(1.25e6, 0.0), std::pair(12.5e6, 0.001), std::pair(125e6, 0.0001)}) {
        const measured dense = measure_steps(all_reduce{sgd{}}, tensors, rate, latency);
        const measured sparse =
            measure_steps(all_reduce{sgd{}, compressor}, tensors, rate, latency);
        CHECK(dense.compute_seconds / computing == Approx(1.0));
        const advice found = advise(dense.compute_seconds, dense.link, 4, ways);
        MESSAGE(reporting::bandwidth(rate)
                << ": whole gradients " << reporting::seconds(found.steps[0].step_seconds)
                << " predicted, " << reporting::seconds(dense.step_seconds) << " measured; DGC "
                << reporting::seconds(found.steps[1].step_seconds) << " predicted, "
                << reporting::seconds(sparse.step_seconds) << " measured");
        CHECK(std::abs(found.steps[0].step_seconds / dense.step_seconds - 1.0) < 0.15);
        CHECK(std::abs(found.steps[1].step_seconds / sparse.step_seconds - 1.0) < 0.15);
        CHECK((found.best == 1) == (sparse.step_seconds < 0.95 * dense.step_seconds));
    }
}
