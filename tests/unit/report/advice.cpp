#include "sotto/report/advice.hpp"

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

#include "sotto/collectives/all_reduce.hpp"
#include "sotto/compressors/dgc.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/report/advice_calibration.hpp"
#include "sotto/report/advice_link.hpp"
#include "sotto/logging/run_recorder.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "support/effort.hpp"
#include "support/numbers.hpp"
#include "support/throttled.hpp"

using namespace sotto;
using doctest::Approx;

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

detail::way_to_send dense_way(double bytes, double messages = 0.0) {
    return {.name = "whole gradients",
            .message_bytes = bytes,
            .transfer = {bytes, messages},
            .dense = true};
}
detail::way_to_send sparse_way(double bytes, double compress, double messages = 0.0) {
    return {.name = "sparse",
            .compress_seconds = compress,
            .message_bytes = bytes,
            .transfer = {bytes, messages}};
}

/// Values that pass a rank's link one after another, and steps, on the rank that has most of them.
/// A step that sends and receives takes as long as the longer of the two.
template <class PlanOf>
std::pair<double, double> counted_by_plan(int world, std::int64_t values, PlanOf plan_of) {
    std::int64_t most = 0;
    int steps = 0;
    for (int rank = 0; rank < world; ++rank) {
        auto plan = plan_of(rank);
        plan.begin(values);
        std::int64_t passed = 0;
        for (int k = 0; k < plan.steps(); ++k) {
            const detail::collectives::step s = plan.at(k);
            passed += std::max(s.to == detail::collectives::nobody ? 0 : s.out.size(),
                               s.from == detail::collectives::nobody ? 0 : s.in.size());
        }
        most = std::max(most, passed);
        steps = std::max(steps, plan.steps());
    }
    return {static_cast<double>(most), static_cast<double>(steps)};
}

constexpr auto whole = wire::value_format::fp32, half = wire::value_format::fp16;

}  // namespace

TEST_CASE("the cost model counts what the busiest rank's plan sends, whichever is chosen") {
    using sotto::detail::collectives::algorithm;
    for (int world = 2; world <= 17; ++world)
        for (const auto format : {whole, half})
            for (const auto which :
                 {detail::collectives::algorithm::automatic, detail::collectives::algorithm::ring,
                  detail::collectives::algorithm::tree,
                  detail::collectives::algorithm::halving_doubling,
                  detail::collectives::algorithm::recursive_doubling})
                for (const std::int64_t values : {1, 100, 5000, 16384, 100'000, 1'000'000}) {
                    CAPTURE(world);
                    CAPTURE(values);
                    const auto counted = counted_by_plan(world, values, [&](int rank) {
                        return detail::collectives::all_reduce_plan(rank, world, which, format);
                    });
                    const detail::transfer_cost cost =
                        all_reduce_cost(values, world, format, which);
                    const auto a_value = static_cast<double>(wire::bytes_per_value(format));
                    CHECK(cost.messages == counted.second);
                    CHECK(cost.bytes <= a_value * counted.first);
                    CHECK(cost.bytes >= a_value * (counted.first - 2.0 * world));
                }
}

TEST_CASE("the cost model has the costs that the plans state") {
    using sotto::detail::collectives::algorithm;
    const auto is = [](const detail::transfer_cost& cost, double bytes, double messages) {
        CHECK(cost.bytes == Approx(bytes).epsilon(1e-12));
        CHECK(cost.messages == messages);
    };
    // 4 KiB and 4 MiB. Halves of 2 bytes never go by recursive doubling.
    const std::int64_t few = 1 << 10, many = 1 << 20;
    is(all_reduce_cost(few, 4), 2.0 * 4.0 * few, 2.0);
    is(all_reduce_cost(few, 4, half), 1.5 * 2.0 * few, 4.0);
    is(all_reduce_cost(few, 4, half, detail::collectives::algorithm::recursive_doubling),
       1.5 * 2.0 * few, 4.0);
    is(all_reduce_cost(few, 4, whole, detail::collectives::algorithm::halving_doubling),
       1.5 * 4.0 * few, 4.0);
    is(all_reduce_cost(few, 4, whole, detail::collectives::algorithm::tree), 4.0 * 4.0 * few, 4.0);
    is(all_reduce_cost(many, 4), 1.5 * 4.0 * many, 6.0);
    is(all_reduce_cost(8192, 8), 3.0 * 32768.0, 3.0);
    is(all_reduce_cost(8200, 8), 1.75 * 4.0 * 8200.0, 6.0);
    is(all_reduce_cost(32768, 2), 131072.0, 1.0);
    // Three ranks more than a power of two: its ranks' partners send and get all values once.
    is(all_reduce_cost(48, 7, whole, detail::collectives::algorithm::halving_doubling),
       3.5 * 4.0 * 48.0, 6.0);
    is(all_reduce_cost(48, 7), 4.0 * 4.0 * 48.0, 4.0);
}

TEST_CASE("one rank sends nothing, and gathering is a message from everybody") {
    CHECK(all_reduce_cost(1000, 1).bytes == 0.0);
    CHECK(all_gather_cost(100.0, 5).bytes == 400.0);
    CHECK(all_gather_cost(100.0, 5).messages == 4.0);
    CHECK(all_gather_cost(100.0, 5, false).messages == 1.0);
    CHECK(all_gather_cost(100.0, 1).bytes == 0.0);
}

TEST_CASE("exchanges under way together share the link, but not their latencies") {
    detail::transfer_cost both{100.0, 6.0};
    both += {50.0, 3.0};
    CHECK(both.bytes == 150.0);
    CHECK(both.messages == 6.0);
    CHECK(both.seconds({.bytes_per_second = 50.0, .latency_seconds = 0.5}) == 6.0);
}

TEST_CASE("a step is compute, compress, bytes over bandwidth, messages and a vote's latency") {
    const network_link link{.bytes_per_second = 1000.0, .latency_seconds = 0.01};
    const std::array ways{dense_way(4000.0, 6.0), sparse_way(400.0, 0.5, 3.0)};
    const advice found = advise(2.0, link, 4, ways);
    CHECK(found.steps[0].transfer_seconds == Approx(4.0 + 0.06 + 0.02));
    CHECK(found.steps[0].step_seconds == Approx(2.0 + 4.0 + 0.06 + 0.02));
    CHECK(found.steps[1].step_seconds == Approx(2.0 + 0.5 + 0.4 + 0.03 + 0.02));
    CHECK(found.best == 1);
    CHECK(found.dense == 0);
    CHECK(
        found.sentence ==
        "Use sparse: a step takes 2.95\u202fs instead of 6.08\u202fs (2.1\u202f× as fast), because "
        "whole gradients would spend 67\u202f% of theirs on a network of "
        "8\u202fkbit/s and 10\u202fms a message between 4 workers and compressing costs "
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
    CHECK(found.sentence ==
          "Send whole gradients: sparse would save 990\u202fµs of a step on a network of "
          "8\u202fMbit/s between 2 workers, but "
          "compressing costs 1\u202fs more; compression breaks even below 7.92\u202fkbit/s.");
    // A gain below 5 % is not worth it either, nor is sending less than what is as fast.
    const std::array sparser{dense_way(1000.0), sparse_way(20.0, 0.0), sparse_way(10.0, 0.0)};
    CHECK(advise(1.0, {.bytes_per_second = 500.0, .latency_seconds = 0.0}, 2, sparser).best == 1);
    CHECK(advise(1.0, {.bytes_per_second = 10.0, .latency_seconds = 0.0}, 2, sparser).best == 2);
    const std::array nearly{dense_way(1000.0), sparse_way(600.0, 0.0)};
    CHECK(advise(10.0, {.bytes_per_second = 1000.0, .latency_seconds = 0.0}, 2, nearly).best == 0);
    const advice alone = advise(1.0, {}, 1, ways);
    CHECK(alone.sentence.find("nobody to send gradients to") != std::string::npos);
}

TEST_CASE("whole gradients are advised for the reason that decided") {
    const network_link link{.bytes_per_second = 1000.0, .latency_seconds = 0.0};
    const auto said = [&](std::vector<detail::way_to_send> ways) {
        return advise(1.0, link, 2, ways).sentence;
    };
    // The network takes 90 % of a step, and yet compressing costs more than it saves there.
    CHECK(said({dense_way(9000.0), sparse_way(1000.0, 20.0), sparse_way(100.0, 9.5)}) ==
          "Send whole gradients: sparse would save 8.90\u202fs of a step on a network of "
          "8\u202fkbit/s between 2 workers, but compressing "
          "costs 9.50\u202fs more; compression breaks even below 7.49\u202fkbit/s.");
    // What whole gradients cost to be packed and added up is not counted against the others.
    std::vector<detail::way_to_send> packed{dense_way(1000.0), sparse_way(500.0, 1.25)};
    packed[0].compress_seconds = 0.5;
    CHECK(said(packed) ==
          "Send whole gradients: sparse would save 500\u202fms of a step on a network of "
          "8\u202fkbit/s between 2 workers, but compressing "
          "costs 750\u202fms more; compression breaks even below 5.33\u202fkbit/s.");
    CHECK(said({dense_way(100.0), sparse_way(80.0, 0.0)}) ==
          "Send whole gradients: they spend 9\u202f% of a step (100\u202fms) on a network of "
          "8\u202fkbit/s between 2 workers, and "
          "with sparse it would take 1.08\u202fs instead of 1.10\u202fs, a gain below 5\u202f%.");
    CHECK(said({dense_way(100.0), sparse_way(300.0, 0.0)}) ==
          "Send whole gradients: they spend 9\u202f% of a step (100\u202fms) on a network of "
          "8\u202fkbit/s between 2 workers, and "
          "sparse, the fastest of the others, no less.");
    CHECK(said({dense_way(100.0)}) ==
          "Send whole gradients: they spend 9\u202f% of a step (100\u202fms) on a network of "
          "8\u202fkbit/s between 2 workers, and no other way was given to compare them with.");
}

TEST_CASE("what cannot be advised on is refused by name") {
    const std::array ways{dense_way(1.0), sparse_way(1.0, 0.0)};
    CHECK_THROWS_WITH_AS(advise(1.0, {.bytes_per_second = 0.0}, 2, ways),
                         "advise: bytes_per_second is 0; it must be finite and above 0",
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
    for (const detail::way_to_send& way : ways) CHECK(way.compress_seconds > 0.0);
    for (std::size_t i = 2; i < ways.size(); ++i) {
        CHECK_FALSE(ways[i].dense);
        CHECK(ways[i].transfer.bytes < ways[0].transfer.bytes);
    }
    CHECK(ways[2].message_bytes > ways[3].message_bytes);
    CHECK(ways[3].message_bytes > ways[4].message_bytes);
    CHECK(ways[7].message_bytes - 4.0 * 100.0 < 0.01 * 4.0 * 20000.0);  // after the warm-up
    CHECK_THROWS_AS(calibrate("x", none{}, tensors, 0), invalid_option);
    CHECK_THROWS_WITH_AS(calibrate("x", none{}, layout{}, 4),
                         "calibrate: the layout has no weights", invalid_option);
    CHECK_THROWS_WITH_AS(advise(0.001, {}, 4, layout{}), "advise: the layout has no weights",
                         invalid_option);
    CHECK_THROWS_WITH_AS(advise(0.001, {}, 0, tensors),
                         "advise: world_size is 0; it must be at least 1", invalid_option);
    const advice found = advise(0.001, {.bytes_per_second = 1e5}, 4, tensors, {.rounds = 1});
    CHECK(found.best != found.dense);  // 0.6 s of whole gradients a step
}

TEST_CASE("calibrated DGC takes the route of the DGC that trains: chosen for its densest round") {
    layout tensors;
    tensors.add("w", {400, 600});
    const detail::calibration_options once{.rounds = 1};
    const detail::way_to_send usual = calibrate("DGC", dgc{}, tensors, 4, once);
    CHECK(usual.message_bytes < 32768.0);
    CHECK(usual.transfer.messages == 3.0);  // around a ring: a quarter of all entries is more
    const detail::way_to_send never_denser =
        calibrate("DGC", dgc{.warm_up_epochs = 0.0}, tensors, 4, once);
    CHECK(never_denser.message_bytes == usual.message_bytes);
    CHECK(never_denser.transfer.messages == 1.0);
    const detail::way_to_send warming_up =
        calibrate("DGC", dgc{}, tensors, 4, {.rounds = 1, .epoch = 0.0});
    CHECK(warming_up.message_bytes > 100.0 * usual.message_bytes);
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

// Virtual time passes where it would on a real machine: in the model, and in the compressor. While
// training it is the transport's, while a compressor is calibrated it is this.
thread_local duration calibrating{};
void pass_while_calibrating(double seconds) {
    calibrating += testing::slow_network::in_nanoseconds(seconds);
}
thread_local std::function<void(double)> pass_seconds = pass_while_calibrating;

const detail::calibration_options in_virtual_time{.rounds = 3,
                                                  .now = [] { return time_point(calibrating); }};

/// DGC that takes a given time for each value it encodes, and for each message it decodes.
struct slow_dgc : dgc {
    double seconds_a_value = 0.0;
    double seconds_a_message = 0.0;

    class state : public dgc::composition::state {
        using base = dgc::composition::state;

    public:
        state(const slow_dgc& options, const layout& tensors)
            : base(options.dgc::bind(tensors)),
              a_value_(options.seconds_a_value),
              a_message_(options.seconds_a_message) {}
        void encode(const tensor& t, std::span<const float> gradient, bytes& out) {
            pass_seconds(a_value_ * static_cast<double>(t.size));
            base::encode(t, gradient, out);
        }
        detail::sparse_view decode(const tensor& t, byte_view in) {
            pass_seconds(a_message_);
            return base::decode(t, in);
        }
        void decode_add(const tensor& t, byte_view in, std::span<float> sum) {
            pass_seconds(a_message_);
            base::decode_add(t, in, sum);
        }

    private:
        double a_value_;
        double a_message_;
    };
    state bind(const layout& tensors) const { return {*this, tensors}; }
};

constexpr int workers = 4;
constexpr double computing = 0.004;

/// Weights of so many layers, 240,000 in all, and their biases.
layout layers_of_weights(int layers) {
    layout tensors;
    for (int l = 1; l <= layers; ++l)
        tensors.add("weight" + std::to_string(l), {400, 600 / layers})
            .add("bias" + std::to_string(l), {600 / layers}, tensor_kind::bias);
    return tensors;
}

struct measured {
    network_link link;
    double step_seconds = 0.0;
    double compute_seconds = 0.0;
    double compress_seconds = 0.0;
};

/// The third epoch of four ranks over a slow network, in its own time: a third of computing goes
/// forward, the rest backward, layer by layer, while earlier layers' gradients are under way.
template <class Strategy>
measured measure_steps(const Strategy& strategy, int layers, double rate, double latency) {
    testing::slow_network network(workers, rate, latency);
    measured found;
    run_in_process(workers, [&](in_process& inner) {
        testing::throttled transport(inner, network);
        pass_seconds = [&](double seconds) {
            transport.spend(testing::slow_network::in_nanoseconds(seconds));
        };
        const network_link link = measure_link(transport);
        testing::number_model model(layers_of_weights(layers));
        model.on_progress = [&](int announced) {
            if (announced == 0) pass_seconds(layers == 1 ? computing : computing / 3.0);
            if (layers > 1 && announced % 2 == 0 && announced < 2 * layers)
                pass_seconds(2.0 / 3.0 * computing / layers);
        };
        trainer trainer{model, strategy, transport, {.batch_size = 1}};
        run_recorder recorder;
        trainer.fit(testing::numbered{16}, epochs{3}, recorder);
        pass_seconds = pass_while_calibrating;
        if (transport.rank() != 0) return;
        const auto [costs, steps] = recorder.log().steady();
        const auto count = static_cast<double>(steps);
        found = {link, costs.seconds() / count, computing_seconds(recorder.log()),
                 costs.compress / count};
    });
    return found;
}

/// What was measured of one way to send, beside what was predicted.
struct compared {
    measured real;
    double predicted = 0.0;
    double without_exchange = 0.0;

    double ratio() const { return real.step_seconds / predicted; }
};

struct both {
    compared dense, sparse;
};

both measure_both(int layers, double rate, double latency) {
    const slow_dgc compressor{
        {.density = 0.01, .momentum = 0.9, .warm_up_epochs = 1.0}, 6e-9, 50e-6 / layers};
    const layout tensors = layers_of_weights(layers);
    std::vector<detail::way_to_send> ways{
        calibrate("whole gradients", none{}, tensors, workers, in_virtual_time),
        calibrate("DGC", compressor, tensors, workers, in_virtual_time)};
    ways[0].dense = true;
    CHECK(ways[0].compress_seconds == 0.0);
    CHECK(ways[1].compress_seconds == Approx(240'000 * 6e-9 + workers * 50e-6).epsilon(1e-4));

    both out{{measure_steps(all_reduce{sgd{}}, layers, rate, latency)},
             {measure_steps(all_reduce{sgd{}, compressor}, layers, rate, latency)}};
    const advice found = advise(out.dense.real.compute_seconds, out.dense.real.link, workers, ways);
    for (std::size_t i = 0; i < 2; ++i) {
        compared& c = i == 0 ? out.dense : out.sparse;
        const detail::predicted_step& step = found.steps[i];
        CHECK(c.real.compute_seconds / computing == Approx(1.0).epsilon(1e-3));
        CHECK(c.real.compress_seconds == Approx(step.way.compress_seconds).epsilon(1e-3));
        c.predicted = step.step_seconds;
        c.without_exchange = found.compute_seconds + step.way.compress_seconds;
        MESSAGE(layers << " layers, " << sotto::detail::reporting::bandwidth(rate) << ", "
                       << step.way.name << ": " << sotto::detail::reporting::seconds(c.predicted)
                       << " predicted, " << sotto::detail::reporting::seconds(c.real.step_seconds)
                       << " measured");
    }
    // Advice of a tenth and more is right on the measured steps, too.
    const double gain = out.dense.real.step_seconds / out.sparse.real.step_seconds;
    if (gain > 1.1 || gain < 0.9) CHECK((found.best == 1) == (gain > 1.0));
    return out;
}

}  // namespace

TEST_CASE("steps over an artificial link take what was predicted, dense and by DGC") {
    // The gradient is ready at once: nothing hides.
    for (const auto& [rate, latency] :
         {std::pair(1.25e6, 0.0), std::pair(12.5e6, 0.001), std::pair(125e6, 0.0001)}) {
        if (testing::is_sanitized && latency == 0.0) continue;
        const both found = measure_both(1, rate, latency);
        CHECK(std::abs(found.dense.ratio() - 1.0) < 0.15);
        CHECK(std::abs(found.sparse.ratio() - 1.0) < 0.15);
    }
}

TEST_CASE("where an exchange hides behind computing, what is predicted is a bound from above") {
    for (const auto& [rate, latency] : {std::pair(1.25e6, 0.0), std::pair(12.5e6, 0.001),
                                        std::pair(125e6, 0.0001), std::pair(1e9, 0.00001)}) {
        if (testing::is_sanitized && rate != 12.5e6) continue;
        const both found = measure_both(6, rate, latency);
        for (const compared& way : {found.dense, found.sparse}) {
            CHECK(way.ratio() < 1.01);
            CHECK(way.ratio() > 0.75);
            CHECK(way.real.step_seconds > 0.999 * way.without_exchange);
        }
    }
}
