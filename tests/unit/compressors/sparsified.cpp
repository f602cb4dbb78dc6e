#include "sotto/compressors/sparsified.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "sotto/compressors/dgc.hpp"
#include "sotto/compressors/momentum_corrected.hpp"
#include "sotto/compressors/no_memory.hpp"
#include "sotto/compressors/random_k.hpp"
#include "sotto/compressors/residual.hpp"
#include "sotto/compressors/threshold.hpp"
#include "sotto/compressors/top_k.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "support/generators.hpp"
#include "support/numbers.hpp"

using namespace sotto;

namespace {

template <class State>
std::vector<float> sent(State& state, const tensor& t, std::span<const float> gradient,
                        bool commit = true) {
    bytes message;
    state.encode(t, gradient, message);
    CHECK(static_cast<std::int64_t>(message.size()) <= state.message_bytes_max(t));
    std::vector<float> sum(gradient.size());
    state.decode_add(t, message, sum);
    if (commit) state.commit();
    return sum;
}

std::int64_t entries(const std::vector<float>& sum) {
    return std::count_if(sum.begin(), sum.end(), [](float x) { return x != 0.0f; });
}

/// Chooses the first entries, in whole blocks of four: alike on all ranks, and more than asked for.
struct blocks {
    double density = 0.01;
    static constexpr bool shared = true;

    struct state {
        std::vector<std::uint32_t> indices;
        void begin_round(const round_info&) {}
        std::int64_t entries_max(const tensor& t, std::int64_t k) const {
            return std::min(t.size, (k + 3) / 4 * 4);
        }
        std::span<const std::uint32_t> select(const tensor& t, std::span<const float>,
                                              std::int64_t k) {
            indices.resize(static_cast<std::size_t>(entries_max(t, k)));
            std::iota(indices.begin(), indices.end(), 0u);
            return indices;
        }
    };
    state bind_selector(const layout&) const { return {}; }
    auto bind(const layout& tensors) const { return sparsified{*this, no_memory{}}.bind(tensors); }
    void describe(auto&& field) const { field("density", density); }
};

/// What became of gradients on every rank: parameters after one step of rate 1 from zero, and what
/// the ranks remember.
struct mass {
    std::vector<std::vector<float>> moved, remembered;
};

template <class Compressor>
mass exchanged(const Compressor& compressor, const std::vector<std::vector<float>>& gradients) {
    layout tensors;
    tensors.add("w", {static_cast<std::int64_t>(gradients[0].size()), 1});
    mass found{std::vector<std::vector<float>>(gradients.size()),
               std::vector<std::vector<float>>(gradients.size())};
    const int world = static_cast<int>(gradients.size());
    run_in_process(world, [&](in_process& transport) {
        const auto rank = static_cast<std::size_t>(transport.rank());
        testing::number_model model(tensors);
        model.spoil = [&](std::span<float> gradient) {
            std::ranges::transform(gradients[rank], gradient.begin(), [&](float g) {
                return g * static_cast<float>(world);  // the strategy divides by it
            });
        };
        auto state = all_reduce{sgd{.learning_rate = 1.0}, compressor}.bind(tensors, transport);
        std::vector<float> parameters(gradients[0].size());
        state.begin_epoch({.examples = 1});
        detail::round_input<testing::number_model> job{model, {0}, 1, 0, 0.0};
        state.round(job, parameters);
        found.moved[rank] = parameters;
        if constexpr (requires { state.compressor().memory().unsent(tensors[0]); })
            std::ranges::copy(state.compressor().memory().unsent(tensors[0]),
                              std::back_inserter(found.remembered[rank]));
    });
    return found;
}

}  // namespace

TEST_CASE("exactly k entries a tensor are sent in every step") {
    const layout tensors = testing::small_layout();
    auto worker = sparsified{top_k{.density = 0.013}, residual{}}.bind(tensors);
    for (int step = 0; step < 4; ++step) {
        worker.begin_round({.step = step});
        for (const tensor& t : tensors) {
            if (t.is_vector()) continue;
            const auto g =
                testing::normal_values(t.size, static_cast<std::uint64_t>(100 * step + t.index));
            CHECK(entries(sent(worker, t, g)) == entries_at(0.013, t.size));
        }
    }
    CHECK(entries_at(0.001, 3000) == 3);
    CHECK(entries_at(0.001, 3001) == 4);
    CHECK(entries_at(1.0, 7) == 7);
    CHECK(entries_at(0.5, 0) == 0);
    CHECK(entries_at(1e-9, 10) == 1);
}

TEST_CASE("a rolled back round leaves memory bit for bit as it was") {
    const layout tensors = testing::small_layout();
    const tensor& t = tensors[0];
    auto worker = dgc{.density = 0.05}.bind(tensors);
    auto twin = dgc{.density = 0.05}.bind(tensors);
    for (int step = 0; step < 6; ++step) {
        const auto failed = testing::normal_values(t.size, static_cast<std::uint64_t>(step + 1000));
        sent(worker, t, failed, false);
        worker.rollback();
        const auto g = testing::normal_values(t.size, static_cast<std::uint64_t>(step));
        CHECK(sent(worker, t, g) == sent(twin, t, g));
        CHECK(std::ranges::equal(worker.memory().unsent(t), twin.memory().unsent(t)));
        CHECK(std::ranges::equal(worker.memory().velocity(t), twin.memory().velocity(t)));
    }
}

TEST_CASE("a gradient is weighed and checked while it is taken in, bit for bit as before") {
    const layout tensors = testing::small_layout();
    const tensor& t = tensors[0];
    const auto check = [&](const auto& options) {
        auto worker = options.bind(tensors), twin = options.bind(tensors);
        REQUIRE(detail::compressing::weighs(worker, t));
        for (std::uint64_t step = 0; step < 6; ++step) {
            auto g = testing::normal_values(t.size, step);
            const float weight = 1.0f / static_cast<float>(step + 1);
            bytes message, expected;
            for (const float poison : {NAN, INFINITY, -INFINITY}) {
                auto poisoned = g;
                poisoned[static_cast<std::size_t>(t.size / 2)] = poison;
                CHECK_THROWS_AS(worker.encode_weighted(t, poisoned, weight, message), error);
                CHECK(message.empty());
                worker.rollback();
            }
            worker.encode_weighted(t, g, weight, message);
            worker.commit();
            for (float& x : g) x *= weight;
            twin.encode(t, g, expected);
            twin.commit();
            CHECK(message == expected);
            CHECK(std::ranges::equal(worker.memory().unsent(t), twin.memory().unsent(t)));
        }
    };
    check(dgc{.density = 0.05});
    check(dgc{.density = 0.05, .values = wire::value_format::fp16});
    // Whoever derives from a state and encodes otherwise is asked to.
    struct other : dgc::composition::state {
        using dgc::composition::state::state;
        void encode(const tensor&, std::span<const float>, bytes&) {}
    };
    CHECK(!detail::compressing::encodes_weighted<other>);
    CHECK(detail::compressing::encodes_weighted<dgc::composition::state>);
    // Where norms are looked at, or values pass otherwise, the gradient is to be measured first.
    CHECK(!detail::compressing::weighs(dgc{.clip_norm = 1.0}.bind(tensors), t));
    CHECK(!detail::compressing::weighs(sparsified{top_k{}, residual{}}.bind(tensors), t));
    CHECK(!detail::compressing::weighs(sparsified{threshold{}, residual{}}.bind(tensors), t));
    CHECK(!detail::compressing::weighs(sparsified{random_k{}, residual{}}.bind(tensors), t));
}

TEST_CASE("what rounding to fp16 takes away stays in memory") {
    layout tensors;
    tensors.add("w", {4, 1});
    const tensor& t = tensors[0];
    auto worker = sparsified{top_k{.density = 0.5},
                             residual{},
                             constant_density{},
                             local_clipping{},
                             {.values = wire::value_format::fp16}}
                      .bind(tensors);
    const std::vector<float> g{1.0f / 3, 1e6f, 0.0f, 0.0f};
    const auto sum = sent(worker, t, g);
    CHECK(sum[0] == wire::rounded(wire::value_format::fp16, g[0]));
    CHECK(sum[0] + worker.memory().unsent(t)[0] == g[0]);
    CHECK(sum[1] == 65504.0f);  // the largest number of the format; the rest waits
    CHECK(worker.memory().unsent(t)[1] == 1e6f - 65504.0f);
}

TEST_CASE(
    "local clipping scales by the norm of a tensor or of the model over the root of the workers") {
    const layout tensors = testing::small_layout();
    const auto g = testing::normal_values(tensors.size(), 3);
    const auto norm = [](std::span<const float> x) {
        double sum = 0;
        for (const float v : x) sum += double{v} * v;
        return std::sqrt(sum);
    };
    const tensor& t = tensors[0];
    const auto part = t.of(std::span<const float>(g));
    for (const int workers : {1, 4}) {
        const double limit = 2.0 / std::sqrt(static_cast<double>(workers));
        auto by_tensor = dgc{.density = 1.0, .mask = false, .clip_norm = 2.0}.bind(tensors);
        by_tensor.begin_round({.world_size = workers});
        CHECK_FALSE(by_tensor.waits_for_all());
        CHECK(norm(sent(by_tensor, t, part)) == doctest::Approx(limit).epsilon(1e-5));

        auto by_model =
            dgc{.density = 1.0, .mask = false, .clip_norm = 2.0, .clip = local_clipping::per_model}
                .bind(tensors);
        by_model.begin_round({.world_size = workers});
        CHECK(by_model.waits_for_all());
        detail::compressing::measure(by_model, tensors, g);
        CHECK(norm(sent(by_model, t, part)) ==
              doctest::Approx(limit * norm(part) / norm(g)).epsilon(1e-5));
    }
    auto loose = dgc{.density = 1.0, .mask = false, .clip_norm = 1e6}.bind(tensors);
    CHECK(std::ranges::equal(sent(loose, t, part), part));
}

TEST_CASE("a measured norm is used as given, for one round, and the tensor's own without one") {
    const layout tensors = testing::small_layout();
    const auto g = testing::normal_values(tensors.size(), 3);
    const tensor& t = tensors[0];
    const auto part = t.of(std::span<const float>(g));
    const dgc options{.density = 1.0, .mask = false, .clip_norm = 1.0};
    auto plain = options.bind(tensors), measured = options.bind(tensors);
    const auto own = sent(plain, t, part);
    detail::compressing::measured(measured, t, detail::kernels::sum_of_squares(part));
    CHECK(sent(measured, t, part) == own);

    const auto halved = [&](auto& worker) {
        worker.measured(t, 4.0);  // of length 2
        const auto found = sent(worker, t, part);
        bool half = true;
        for (std::size_t i = 0; i < part.size(); ++i) half &= found[i] == 0.5f * part[i];
        return half;
    };
    auto told = options.bind(tensors);
    told.begin_round({});
    CHECK(halved(told));
    for (int forgetting = 0; forgetting < 3; ++forgetting) {
        auto worker = options.bind(tensors);
        worker.measured(t, 4.0);
        if (forgetting == 0) worker.begin_round({});
        if (forgetting == 1) worker.commit();
        if (forgetting == 2) worker.rollback();
        CHECK(sent(worker, t, part) == own);
    }
}

TEST_CASE("clipping by the model's norm needs every tensor measured first, in each round") {
    const layout tensors = testing::small_layout();
    const auto g = testing::normal_values(tensors.size(), 3);
    const auto part = tensors[0].of(std::span<const float>(g));
    auto worker =
        dgc{.density = 1.0, .clip_norm = 2.0, .clip = local_clipping::per_model}.bind(tensors);
    bytes message;
    CHECK_THROWS_AS(worker.encode(tensors[0], part, message), invalid_option);
    for (const tensor& t : tensors) {
        CHECK_THROWS_AS(worker.encode(tensors[0], part, message), invalid_option);
        worker.measured(t, 1.0);
    }
    worker.encode(tensors[0], part, message);
    worker.begin_round({});
    CHECK_THROWS_AS(worker.encode(tensors[0], part, message), invalid_option);
}

TEST_CASE("vectors go dense, without memory, and get their momentum after the sum") {
    const layout tensors = testing::small_layout();
    const tensor& bias = tensors[1];
    auto worker = dgc{.density = 0.01, .momentum = 0.5}.bind(tensors);
    CHECK(worker.sums(bias));
    CHECK_FALSE(worker.sums(tensors[0]));
    CHECK(worker.payload_size(bias) == bias.size);
    std::vector<float> payload(12), sum(12), velocity(12);
    for (int step = 0; step < 3; ++step) {
        const auto g = testing::integer_values(12, static_cast<std::uint64_t>(step));
        worker.pack(bias, g, payload);
        CHECK(payload == g);
        worker.unpack(bias, payload, sum);
        worker.commit();
        for (std::size_t i = 0; i < 12; ++i) velocity[i] = 0.5f * velocity[i] + g[i];
        CHECK(sum == velocity);
    }
    auto all_sparse = sparsified{
        top_k{.density = 0.1},
        residual{},
        constant_density{},
        local_clipping{},
        {.dense_vectors =
             false}}.bind(tensors);
    CHECK_FALSE(all_sparse.sums(bias));
    CHECK(entries(sent(all_sparse, bias, testing::normal_values(12, 1))) == 2);
}

TEST_CASE("a vector's message to a server carries its momentum, and is undone with its round") {
    const layout tensors = testing::small_layout();
    const tensor& bias = tensors[1];
    auto worker = dgc{.density = 0.01, .momentum = 0.5}.bind(tensors);
    auto server = dgc{.density = 0.01, .momentum = 0.5}.bind(tensors);
    const std::vector<float> ones(12, 1.0f);
    for (const float velocity : {1.0f, 1.5f, 1.75f}) {
        for (const bool counts : {false, true}) {
            bytes message;
            std::vector<float> came(12);
            worker.begin_round({});
            worker.encode(bias, ones, message);
            server.decode_add(bias, message, came);
            CHECK(came == std::vector<float>(12, velocity));
            counts ? worker.commit() : worker.rollback();
        }
    }
}

TEST_CASE("N workers with one gradient send what one worker of N times the batch sends") {
    const layout tensors = testing::small_layout();
    const tensor& t = tensors[0];
    const dgc options{.density = 0.02, .clip_norm = 1000.0};
    auto alone = options.bind(tensors);
    std::vector<decltype(alone)> four(4, options.bind(tensors));
    for (int step = 0; step < 10; ++step) {
        auto g = testing::integer_values(t.size, static_cast<std::uint64_t>(step));
        alone.begin_round({.step = step, .world_size = 1});
        const auto whole = sent(alone, t, g);
        for (float& x : g) x /= 4.0f;
        std::vector<float> sum(g.size());
        for (auto& worker : four) {
            worker.begin_round({.step = step, .world_size = 4});
            const auto quarter = sent(worker, t, g);
            for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += quarter[i];
        }
        for (std::size_t i = 0; i < whole.size(); ++i) CHECK(sum[i] == whole[i]);
    }
}

TEST_CASE("random-k chooses alike on all ranks and is summed without indices") {
    const layout tensors = testing::small_layout();
    const tensor& t = tensors[3];
    static_assert(detail::summable<random_k> && detail::summable<sparsified<random_k, residual>>);
    static_assert(!detail::summable<top_k> && detail::packs<dgc> && !detail::summable<dgc> &&
                  detail::sparse<dgc>);
    auto a = sparsified{random_k{.density = 0.1}, residual{}}.bind(tensors);
    auto b = sparsified{random_k{.density = 0.1}, residual{}}.bind(tensors);
    std::vector<int> chosen(static_cast<std::size_t>(t.size));
    for (int step = 0; step < 400; ++step) {
        a.begin_round({.step = step, .rank = 0, .world_size = 2});
        b.begin_round({.step = step, .rank = 1, .world_size = 2});
        const std::vector<float> ga(static_cast<std::size_t>(t.size), 1.0f), gb(ga);
        const auto k = static_cast<std::size_t>(a.payload_size(t));
        REQUIRE(k == 70);
        std::vector<float> pa(k), pb(k), sum(static_cast<std::size_t>(t.size));
        a.pack(t, ga, pa);
        b.pack(t, gb, pb);
        for (std::size_t j = 0; j < k; ++j) pa[j] += pb[j];
        a.unpack(t, pa, sum);
        for (std::size_t i = 0; i < sum.size(); ++i) chosen[i] += sum[i] != 0.0f;
        a.commit();
        b.commit();
    }
    for (const int count : chosen) CHECK(std::abs(count - 40) < 36);  // 6 standard deviations
}

TEST_CASE("a shared selector may choose more than k: all of it is summed, and nothing is lost") {
    const auto found = exchanged(sparsified{blocks{.density = 0.1}, residual{}},
                                 {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1}});
    for (std::size_t rank = 0; rank < 2; ++rank)
        CHECK(found.moved[rank] == std::vector<float>{-2, -3, -4, -5, 0, 0, 0, 0, 0, 0});
    CHECK(found.remembered[0] == std::vector<float>{0, 0, 0, 0, 5, 6, 7, 8, 9, 10});
    CHECK(found.remembered[1] == std::vector<float>{0, 0, 0, 0, 1, 1, 1, 1, 1, 1});
}

TEST_CASE("what a memory gave up for a sum is not rounded on the way") {
    const auto small = exchanged(sparsified{random_k{.density = 1.0},
                                            residual{},
                                            constant_density{},
                                            local_clipping{},
                                            {.values = wire::value_format::fp16}},
                                 {{1.0f, 60000.0f}, {0x1p-12f, 60000.0f}});
    for (std::size_t rank = 0; rank < 2; ++rank) {
        CHECK(small.moved[rank] == std::vector<float>{-1.0f - 0x1p-12f, -120000.0f});
        CHECK(small.remembered[rank] == std::vector<float>{0, 0});
    }
}

TEST_CASE("clipping leaves a rank that is alone in a round the whole limit") {
    const layout tensors = testing::small_layout();
    const tensor& t = tensors[0];
    std::vector<float> g(static_cast<std::size_t>(t.size));
    g[0] = 0.75f;
    auto worker = dgc{.density = 1.0, .mask = false, .clip_norm = 1.0}.bind(tensors);
    worker.begin_round({.world_size = 4, .share = 1.0});
    CHECK(sent(worker, t, g)[0] == 0.75f);
    auto fresh = dgc{.density = 1.0, .mask = false, .clip_norm = 1.0}.bind(tensors);
    fresh.begin_round({.world_size = 4});
    CHECK(sent(fresh, t, g)[0] == 0.5f);
}

TEST_CASE("masking from a sparsity on looks at what a threshold chose, not at what it might have") {
    layout tensors;
    tensors.add("w", {100, 1});
    std::vector<float> g(100, 0.01f);
    g[7] = 3.0f;
    auto worker = sparsified{threshold{.limit = 2.0},
                             momentum_corrected{.momentum = 0.5, .mask_from_sparsity = 0.9}}
                      .bind(tensors);
    worker.begin_round({});
    CHECK(entries(sent(worker, tensors[0], g)) == 1);
    CHECK(worker.memory().velocity(tensors[0])[7] == 0.0f);
    CHECK(worker.memory().velocity(tensors[0])[8] == 0.01f);
}

TEST_CASE("a threshold sends what reaches it and nothing else") {
    const layout tensors = testing::small_layout();
    const tensor& t = tensors[0];
    auto worker = sparsified{threshold{.limit = 2.0}, residual{}}.bind(tensors);
    std::vector<float> g(static_cast<std::size_t>(t.size), 0.75f);
    g[7] = -2.0f;
    CHECK(entries(sent(worker, t, g)) == 1);
    CHECK(entries(sent(worker, t, g)) == 1);       // 1.5 and the one of 2
    CHECK(entries(sent(worker, t, g)) == t.size);  // 2.25 all over
}

TEST_CASE("the paper's and the code's warm-up have their published densities") {
    const warm_up paper{.epochs = 4.0};
    CHECK(paper.density(0.0, 0.001) == 0.25);
    CHECK(paper.density(0.999, 0.001) == 0.25);
    CHECK(paper.density(1.0, 0.001) == 0.0625);
    CHECK(paper.density(2.5, 0.001) == 0.015625);
    CHECK(paper.density(3.0, 0.001) == 0.00390625);
    CHECK(paper.density(4.0, 0.001) == 0.001);
    CHECK(paper.density(2.0, 0.1) == 0.1);  // never below the target
    CHECK(warm_up{.epochs = 1.0}.density(0.3, 0.001) == 0.0625);
    CHECK(warm_up{.epochs = 0.0}.density(0.0, 0.001) == 0.001);
    const exponential_warm_up code{.epochs = 5.0};
    const double expected[]{0.316, 0.1, 0.0316, 0.01, 0.00316};
    for (int e = 0; e < 5; ++e)
        CHECK(code.density(e, 0.001) == doctest::Approx(expected[e]).epsilon(0.01));
    CHECK(code.density(5.0, 0.001) == 0.001);
}

TEST_CASE("options that cannot work are refused with their value") {
    const layout tensors = testing::small_layout();
    CHECK_THROWS_WITH_AS(top_k{.density = 0.0}.bind(tensors),
                         "sparsified: density is 0; it must be above 0 and at most 1 (0.001 "
                         "sends one entry in a "
                         "thousand)",
                         invalid_option);
    CHECK_THROWS_AS(top_k{.density = 1.5}.bind(tensors), invalid_option);
    CHECK_THROWS_AS(dgc{.clip_norm = -1.0}.bind(tensors), invalid_option);
    CHECK_THROWS_AS(threshold{.limit = 0.0}.bind(tensors), invalid_option);
    layout huge;
    huge.add("huge", {(std::int64_t{1} << 32) + 1, 1});
    CHECK_THROWS_WITH_AS(
        dgc{}.bind(huge),
        "sparsified: tensor 'huge' has 4294967297 elements; a sparse block indexes at most 2^32: "
        "split it in the layout",
        invalid_option);
}

TEST_CASE("what has accumulated beyond all numbers is refused, in halves as in floats") {
    layout tensors;
    tensors.add("w", {4, 1});
    for (const auto format : {wire::value_format::fp32, wire::value_format::fp16}) {
        auto worker = sparsified{
            top_k{.density = 0.25},
            residual{},
            constant_density{},
            local_clipping{},
            {.values =
                 format}}.bind(tensors);
        const std::vector<float> g{3e38f, 0.0f, 3e38f, 0.0f};
        sent(worker, tensors[0], g);
        bytes message;
        // In halves element 0 is not done with either: 65504 of it left.
        const std::string which = format == wire::value_format::fp32 ? "2" : "0";
        const std::string text =
            "what has accumulated in tensor 'w' is not finite: element " + which;
        CHECK_THROWS_WITH_AS(worker.encode(tensors[0], g, message), text.c_str(), error);
    }
}

TEST_CASE("sums travel in the format they were given where nothing is remembered, else as floats") {
    layout tensors;
    tensors.add("w", {1, 2}).add("b", {2}, tensor_kind::bias);
    auto forgetful = sparsified{random_k{.density = 1.0},
                                no_memory{},
                                constant_density{},
                                local_clipping{},
                                {.values = wire::value_format::fp16}}
                         .bind(tensors);
    CHECK(forgetful.payload_format(tensors[0]) == wire::value_format::fp16);
    CHECK(forgetful.payload_format(tensors[1]) == wire::value_format::fp32);
    const std::vector<float> g{1.0f / 3, 0.1f};
    std::vector<float> payload(2);
    forgetful.pack(tensors[0], g, payload);
    for (std::size_t i = 0; i < 2; ++i)
        CHECK(payload[i] == wire::rounded(wire::value_format::fp16, g[i]));

    auto worker = sparsified{random_k{.density = 1.0},
                             residual{},
                             constant_density{},
                             local_clipping{},
                             {.values = wire::value_format::fp16}}
                      .bind(tensors);
    CHECK(worker.payload_format(tensors[0]) == wire::value_format::fp32);
    worker.pack(tensors[0], g, payload);
    CHECK(payload == g);
}

TEST_CASE("messages that do not fit are refused and add nothing") {
    const layout tensors = testing::small_layout();
    const tensor& t = tensors[0];
    auto worker = sparsified{top_k{.density = 0.05}, residual{}}.bind(tensors);
    bytes message;
    worker.encode(t, testing::normal_values(t.size, 1), message);
    for (std::size_t length = 0; length < message.size(); ++length) {
        std::vector<float> sum(static_cast<std::size_t>(t.size));
        CHECK_THROWS_AS(worker.decode_add(t, byte_view(message).first(length), sum), malformed);
        CHECK(entries(sum) == 0);
    }
}
