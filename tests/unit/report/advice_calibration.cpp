#include "sotto/collectives/all_gather.hpp"
#include "sotto/report/advice_calibration.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sotto/compressors/dgc.hpp"
#include "sotto/compressors/ef21.hpp"
#include "sotto/compressors/none.hpp"
#include "sotto/compressors/qsgd.hpp"
#include "sotto/compressors/residual.hpp"
#include "sotto/compressors/scaled_sign.hpp"
#include "sotto/compressors/threshold.hpp"
#include "sotto/compressors/top_k.hpp"
#include "sotto/core/random.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/transports/metered.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "support/effort.hpp"
#include "support/numbers.hpp"

using namespace sotto;
using doctest::Approx;

namespace {

/// Bytes of gradients that the busiest rank sends in a round: of the fifth, as calibrate counts
/// them, in which ranks have the same gradients as before.
template <class Compressor>
double metered_bytes(const Compressor& compressor, const layout& tensors, int world) {
    constexpr int rounds = 5;
    std::vector<std::int64_t> sent(static_cast<std::size_t>(world));
    run_in_process(world, [&](in_process& inner) {
        metered through(inner);
        testing::number_model model(tensors);
        model.spoil = [&](std::span<float> g) {
            random_stream random(1 + static_cast<std::uint64_t>(through.rank()));
            for (float& value : g) value = static_cast<float>(0.01 * random.normal());
        };
        auto state = all_reduce{sgd{}, compressor}.bind(model.layout(), through);
        std::vector<float> parameters(static_cast<std::size_t>(tensors.size()));
        const auto of_gradients = [&] {
            return through.on(channels::sums).bytes_sent +
                   through.on(channels::messages).bytes_sent;
        };
        std::int64_t before = 0;
        for (int step = 0; step < rounds; ++step) {
            if (step + 1 == rounds) before = of_gradients();
            state.begin_epoch({.examples = 1, .batch_size = world});
            detail::round_input<testing::number_model> job{model, {0}, 1, step, 1e6};
            (void)state.round(job, parameters);
        }
        sent[static_cast<std::size_t>(through.rank())] = of_gradients() - before;
    });
    return static_cast<double>(*std::max_element(sent.begin(), sent.end()));
}

layout tensors_of(std::int64_t rows) {
    layout tensors;
    tensors.add("w", {rows, 601}).add("b", {601}, tensor_kind::bias);
    return tensors;
}

/// What is predicted is what is sent, up to the differences between ranks.
template <class Compressor>
detail::way_to_send check(const char* name, const Compressor& compressor, std::int64_t rows,
                          int world) {
    CAPTURE(std::string(name));
    CAPTURE(rows);
    CAPTURE(world);
    const layout tensors = tensors_of(rows);
    const detail::way_to_send way = calibrate(name, compressor, tensors, world, {.rounds = 3});
    const double sent = metered_bytes(compressor, tensors, world);
    CHECK(way.transfer.bytes / sent == Approx(1.0).epsilon(0.04));
    return way;
}

auto top(double density, wire::value_format values) {
    return sparsified{
        top_k{density}, residual{}, constant_density{}, local_clipping{}, {.values = values}};
}

constexpr auto whole = wire::value_format::fp32, half = wire::value_format::fp16;

}  // namespace

TEST_CASE("what calibrated ways are to send is what the strategy sends, whichever way it takes") {
    for (const int world : {4, 16}) {
        if (testing::is_sanitized && world == 16) continue;
        const double n = 100 * 601;
        const double others = world - 1, parts = others / world;
        const detail::way_to_send dense = check("whole gradients", none{}, 100, world);
        CHECK(dense.transfer.bytes > 8.0 * n * parts);
        check("fp16", fp16{}, 100, world);
        check("DGC 1 %", dgc{.density = 0.01, .values = half}, 100, world);
        check("DGC 0.1 %", dgc{.density = 0.001, .values = half}, 100, world);
        check("top-k 10 %", top(0.1, half), 100, world);
        check("top-k 80 %", top(0.8, whole), 100, world);
        check("top-k 5 %, few", top(0.05, whole), 3, world);
        check("ef21", ef21{top_k{0.01}}, 100, world);
        check("ef21, dense", ef21{top_k{0.3}}, 100, world);
        check("threshold", sparsified{threshold{0.03}, residual{}}, 100, world);
        check("qsgd", qsgd{.bits = 8}, 100, world);
    }
}

TEST_CASE("codes that are gathered cost more than whole gradients for more than 64 / bits ranks") {
    layout weights;
    weights.add("w", {512, 512});
    const auto bytes_of = [&](const auto& compressor, int world) {
        return calibrate("codes", compressor, weights, world, {.rounds = 1}).transfer.bytes;
    };
    const auto pays = [&](const auto& compressor, int world) {
        return bytes_of(compressor, world) < 8.0 * (1.0 - 1.0 / world) * 512 * 512;
    };
    for (const int bits : {2, 4, 8}) {
        const qsgd codes{.bits = bits, .bucket = 1 << 18};
        CHECK(pays(codes, 64 / bits - 1));
        CHECK_FALSE(pays(codes, 64 / bits + 1));
    }
    CHECK(pays(scaled_sign{}, 63));
    CHECK_FALSE(pays(scaled_sign{}, 65));

    std::vector ways{calibrate("whole gradients", none{}, weights, 16, {.rounds = 1}),
                     calibrate("8 bits", qsgd{.bits = 8}, weights, 16, {.rounds = 1})};
    ways[0].dense = true;
    const advice found = advise(0.001, {.bytes_per_second = 1e6}, 16, ways);
    CHECK(found.best == 0);
    CHECK(found.steps[1].pays_below_bytes_per_second == 0.0);
    CHECK(found.sentence.ends_with(
        "8 bits, the fastest of the others, no less; its messages are shorter, but those of all 16 "
        "workers go to everybody."));
}

TEST_CASE("entries that are selected again cost what they say, however many ranks there are") {
    // At 10 %, gathering would send 15 messages, more than whole gradients.
    const detail::way_to_send at_16 = check("top-k 10 %", top(0.1, half), 100, 16);
    CHECK(at_16.transfer.bytes < 2.1 * at_16.message_bytes);
    CHECK(at_16.transfer.messages == 4.0);  // the bias, by recursive doubling
    CHECK(at_16.reselects);
    layout weights;
    weights.add("w", {100, 600});
    CHECK(calibrate("top-k", top(0.1, half), weights, 16, {.rounds = 1}).transfer.messages == 2.0);
    // A share of the sums that is longer than 32 KiB goes around a ring.
    weights = {};
    weights.add("w", {1000, 2000});
    CHECK(calibrate("top-k", top(0.1, half), weights, 9, {.rounds = 1}).transfer.messages == 9.0);
}

TEST_CASE("advice: a way that selects sums again -> says how many are applied") {
    const auto said = [](int world) {
        layout tensors;
        tensors.add("w", {1000, 600});
        std::vector<detail::way_to_send> ways{
            calibrate("whole gradients", none{}, tensors, world, {.rounds = 1}),
            calibrate("top-k", top(0.01, half), tensors, world, {.rounds = 1})};
        ways[0].dense = true;
        for (auto& way : ways) way.compress_seconds = 0.0;
        const advice found = advise(0.001, {.bytes_per_second = 1e5}, world, ways);
        CHECK(found.best == 1);
        return found.sentence;
    };
    CHECK(said(16).ends_with(
        "A step then applies about as many sums of entries as one worker sends, the others wait: "
        "collectives::all_gather{} applies all, for more bytes."));
    CHECK(said(4).find("others wait") == std::string::npos);
}
