#include "sotto/strategies/detail/parameter_server/shard_server.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <span>
#include <vector>

#include "sotto/checkpoint/detail/own_state.hpp"
#include "sotto/compressors/none.hpp"
#include "sotto/compressors/residual.hpp"
#include "sotto/compressors/sparsified.hpp"
#include "sotto/compressors/top_k.hpp"
#include "sotto/strategies/parameter_server/consistency/asynchronous.hpp"
#include "sotto/strategies/parameter_server/consistency/bulk_synchronous.hpp"
#include "sotto/strategies/parameter_server/consistency/stale_synchronous.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/optimizers/clipped.hpp"
#include "sotto/optimizers/momentum_sgd.hpp"
#include "sotto/staleness/ada_delay.hpp"
#include "sotto/staleness/delay_compensation.hpp"
#include "sotto/staleness/delay_compensation_adaptive.hpp"
#include "sotto/staleness/delay_compensation_of_rounds.hpp"
#include "sotto/staleness/inverse_staleness.hpp"
#include "sotto/strategies/parameter_server.hpp"
#include "support/folders.hpp"
#include "support/generators.hpp"
#include "support/served.hpp"

using namespace sotto;
using namespace sotto::testing;

namespace {

using floats = std::vector<float>;

floats of(std::span<const float> values) {
    return {values.begin(), values.end()};
}

std::vector<std::int64_t> of_counts(std::span<const std::int64_t> counts) {
    return {counts.begin(), counts.end()};
}

/// Whole numbers, so that sums and products are exact in any order.
floats gradient(int worker, int step) {
    floats g(4);
    for (int i = 0; i < 4; ++i)
        g[static_cast<std::size_t>(i)] =
            static_cast<float>((worker * 7 + step * 3 + i * 5) % 9 - 4);
    return g;
}

/// A compensator that shows no way to compensate less than a whole tensor.
template <class Inner>
struct whole {
    Inner inner{};

    static constexpr bool compares = detail::compares_parameters<Inner>;

    struct state {
        compensator_state<Inner> inner;
        double begin(const late_gradient& what) { return inner.begin(what); }
        void compensate(const tensor& t, std::span<float> gradient, std::span<const float> now,
                        std::span<const float> then) noexcept {
            detail::compensating::compensate(inner, t, gradient, now, then);
        }
    };
    state bind(const layout& tensors, int workers) const { return {inner.bind(tensors, workers)}; }
    void describe(auto&& field) const { inner.describe(field); }
};
template <class Inner>
whole(Inner) -> whole<Inner>;

/// Plain SGD that does not say that it is, and applies entries.
struct steps_apart {
    sgd inner{};

    struct state {
        sgd::state inner;
        void begin_step(const step_info& step, std::span<const float> g) {
            inner.begin_step(step, g);
        }
        void update(const tensor& t, std::span<float> w, std::span<const float> g) noexcept {
            inner.update(t, w, g);
        }
        bool updates_sparsely() const noexcept { return true; }
        void update_entries(const tensor& t, std::span<float> w, std::span<const std::uint32_t> at,
                            std::span<const float> values) noexcept {
            inner.update_entries(t, w, at, values);
        }
    };
    state bind(const layout& tensors) const { return {inner.bind(tensors)}; }
    void describe(auto&& field) const { inner.describe(field); }
};

/// The same that takes parts.
struct only_by_parts {
    sgd inner{};

    struct state {
        sgd::state inner;
        void begin_step(const step_info& step, std::span<const float> g) {
            inner.begin_step(step, g);
        }
        void update(const tensor& t, std::span<float> w, std::span<const float> g) noexcept {
            inner.update(t, w, g);
        }
        void update_part(const tensor& t, std::int64_t first, std::span<float> w,
                         std::span<const float> g) noexcept {
            inner.update_part(t, first, w, g);
        }
    };
    state bind(const layout& tensors) const { return {inner.bind(tensors)}; }
    void describe(auto&& field) const { inner.describe(field); }
};

/// For w^2 / 2, of which the gradient is w: what was missed is known.
struct exact_compensation {
    static constexpr bool compares = true;

    struct state {
        double begin(const late_gradient&) const noexcept { return 1.0; }
        void compensate(const tensor&, std::span<float> gradient, std::span<const float> now,
                        std::span<const float> then) const noexcept {
            for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] += now[i] - then[i];
        }
    };
    state bind(const layout&, int) const { return {}; }
    void describe(auto&&) const {}
};

constexpr int schedule[] = {0, 1, 1, 2, 0, 1, 2, 2, 2, 0, 1, 0, 0, 2, 1};

/// The algorithms of the paper in as few lines as possible.
struct reference {
    float rate, lambda, decay = -1.0f, epsilon = 0.0f;  // decay below 0: a constant lambda
    floats w;
    std::vector<floats> backup;
    floats square;

    reference(float r, float l, const floats& start, std::size_t workers)
        : rate(r), lambda(l), w(start), backup(workers, start), square(start.size()) {}

    void push(int worker, const floats& g) {
        apply(worker, g);
        read(worker);
    }
    void read(int worker) { backup[static_cast<std::size_t>(worker)] = w; }
    void apply(int worker, const floats& g) {
        const floats& before = backup[static_cast<std::size_t>(worker)];
        for (std::size_t i = 0; i < w.size(); ++i) {
            float by = lambda;
            if (decay >= 0.0f) {
                square[i] = decay * square[i] + (1.0f - decay) * g[i] * g[i];
                by = lambda / std::sqrt(square[i] + epsilon);
            }
            w[i] -= rate * (g[i] + by * g[i] * g[i] * (w[i] - before[i]));
        }
    }
};

}  // namespace

TEST_CASE("a schedule of pushes leads where the paper's algorithm leads") {
    const floats start{1.0f, -2.0f, 3.0f, 0.5f};
    for (const float lambda : {0.0f, 0.25f}) {
        const parameter_server options{sgd{.learning_rate = 0.125}, asynchronous{},
                                       delay_compensation{.lambda = lambda}};
        served server(options, 3, start);
        reference expected(0.125f, lambda, start, 3);
        int step = 0;
        for (const int worker : schedule) {
            server.push(worker, gradient(worker, step));
            expected.push(worker, gradient(worker, step));
            ++step;
            REQUIRE(of(server.parameters()) == expected.w);
            for (int w = 0; w < 3; ++w)
                REQUIRE(server.read_by(w) == expected.backup[static_cast<std::size_t>(w)]);
        }
    }
}

TEST_CASE("what is compensated for is from when the parameters were sent, also if that was late") {
    const floats start{1.0f, -2.0f, 3.0f, 0.5f};
    const parameter_server options{sgd{.learning_rate = 0.125},
                                   stale_synchronous{.bound = 1, .averaged = false},
                                   delay_compensation{.lambda = 0.25}};
    served server(options, 2, start);
    reference expected(0.125f, 0.25f, start, 2);
    struct event {
        int pushes;
        std::vector<int> read;  // at once, or by a push of the other
    };
    const event events[] = {{0, {0}},    {0, {}},  {1, {0, 1}}, {1, {1}}, {1, {1}},   {1, {}},
                            {0, {0, 1}}, {0, {0}}, {0, {0}},    {0, {}},  {1, {0, 1}}};
    int step = 0;
    for (const event& e : events) {
        CAPTURE(step);
        server.push(e.pushes, gradient(e.pushes, step));
        expected.apply(e.pushes, gradient(e.pushes, step));
        for (const int worker : e.read) expected.read(worker);
        REQUIRE(server.has_read() == e.read);
        REQUIRE(of(server.parameters()) == expected.w);
        for (int w = 0; w < 2; ++w)
            REQUIRE(server.read_by(w) == expected.backup[static_cast<std::size_t>(w)]);
        ++step;
    }
}

TEST_CASE("a schedule of pushes with adaptive lambda leads where the paper's algorithm leads") {
    const floats start{1.0f, -2.0f, 3.0f, 0.5f};
    for (const double decay : {0.0, 0.5, 0.95}) {
        const parameter_server options{
            sgd{.learning_rate = 0.125}, asynchronous{},
            delay_compensation_adaptive{.lambda = 0.5, .decay = decay, .epsilon = 1e-7}};
        served server(options, 3, start);
        reference expected(0.125f, 0.5f, start, 3);
        expected.decay = static_cast<float>(decay);
        expected.epsilon = 1e-7f;
        int step = 0;
        for (const int worker : schedule) {
            server.push(worker, gradient(worker, step));
            expected.push(worker, gradient(worker, step));
            ++step;
            for (std::size_t i = 0; i < 4; ++i)
                REQUIRE(server.parameters()[i] == doctest::Approx(expected.w[i]).epsilon(1e-5));
        }
    }
}

TEST_CASE("what a worker has read stays what it was while others go on") {
    const parameter_server options{sgd{.learning_rate = 1.0}, asynchronous{}};
    served server(options, 3, {0.0f, 0.0f});
    const byte_view answered = server.answer_to(2);
    const bytes before(answered.begin(), answered.end());
    server.push(0, {1.0f, 2.0f});
    server.push(1, {10.0f, 20.0f});
    server.push(0, {0.5f, 0.5f});
    CHECK(std::ranges::equal(answered, before));  // it may still be under way
    CHECK(server.read_by(2) == floats{0.0f, 0.0f});
    CHECK(server.read_by(1) == floats{-11.0f, -22.0f});
    CHECK(server.read_by(0) == floats{-11.5f, -22.5f});
    CHECK(server.server().kept_bytes() >= 3 * 2 * sizeof(float));
}

TEST_CASE("a step by parts of dense messages has the bits of one by whole tensors") {
    const auto led_to = [](auto compensator, auto compressor, auto optimizer) {
        constexpr std::size_t n = 5000;  // two parts and some more
        const parameter_server options{optimizer, asynchronous{}, compensator, compressor};
        served server(options, 3, normal_values(n, 1));
        std::uint64_t step = 0;
        for (const int worker : schedule) server.push(worker, normal_values(n, 10 + step++));
        return of(server.parameters());
    };
    const auto same = [&](auto compensator) {
        const auto expected = led_to(whole{compensator}, none{}, sgd{.learning_rate = 0.05});
        CHECK(led_to(compensator, none{}, sgd{.learning_rate = 0.05}) == expected);
        CHECK(led_to(compensator, none{}, only_by_parts{{.learning_rate = 0.05}}) == expected);
        const auto halves = led_to(whole{compensator}, bf16{}, sgd{.learning_rate = 0.05});
        CHECK(halves != expected);
        CHECK(led_to(compensator, bf16{}, sgd{.learning_rate = 0.05}) == halves);
    };
    same(no_compensation{});
    same(inverse_staleness{});
    same(delay_compensation{.lambda = 0.5});
    same(delay_compensation{.lambda = 0.5, .bound = 0.1});
    same(delay_compensation_adaptive{});
    same(delay_compensation_adaptive{.bound = 0.1, .per_worker = true});
}

TEST_CASE("a step by entries is the one by the whole gradient, whose mean square always decays") {
    const auto led_to = [](auto compensator, auto optimizer) {
        constexpr std::size_t n = 2000;
        const sparsified compressor{top_k{.density = 0.05}, residual{}};
        const parameter_server options{optimizer, asynchronous{}, compensator, compressor};
        served server(options, 3, normal_values(n, 1));
        std::uint64_t step = 0;
        for (int turn = 0; turn < 4; ++turn)
            for (const int worker : schedule) server.push(worker, normal_values(n, 10 + step++));
        // Whoever was last has been told of all that has changed.
        CHECK(server.read_by(std::end(schedule)[-1]) == of(server.parameters()));
        return of(server.parameters());
    };
    const auto same = [&](auto compensator) {
        const auto expected = led_to(whole{compensator}, sgd{.learning_rate = 0.05});
        CHECK(led_to(compensator, sgd{.learning_rate = 0.05}) == expected);
        CHECK(led_to(compensator, steps_apart{{.learning_rate = 0.05}}) == expected);
    };
    same(delay_compensation{.lambda = 0.5});
    same(delay_compensation{.lambda = 0.5, .bound = 0.1});
    same(delay_compensation_adaptive{.decay = 0.5});  // powers of 2 cost no bits
    same(delay_compensation_adaptive{.decay = 0.5, .bound = 0.1, .per_worker = true});
    const auto lazily = led_to(delay_compensation_adaptive{}, sgd{.learning_rate = 0.05}),
               eagerly = led_to(whole{delay_compensation_adaptive{}}, sgd{.learning_rate = 0.05});
    for (std::size_t i = 0; i < lazily.size(); ++i)
        REQUIRE(lazily[i] == doctest::Approx(eagerly[i]).epsilon(1e-5));
    CHECK(lazily != led_to(no_compensation{}, sgd{.learning_rate = 0.05}));
}

TEST_CASE("steps by parts keep two arrays for two workers that take turns") {
    const parameter_server options{sgd{}, asynchronous{}, delay_compensation_adaptive{}};
    served server(options, 2, floats(100, 1.0f));
    for (int step = 0; step < 10; ++step) server.push(step % 2, floats(100, 0.5f));
    CHECK(server.server().kept_bytes() == 2 * 100 * sizeof(float));
}

TEST_CASE("staleness is counted by worker, and a log says who came when") {
    const parameter_server options{sgd{}, asynchronous{}};
    served server(options, 2, {0.0f});
    for (const int worker : {0, 0, 1, 0}) server.push(worker, {1.0f});
    CHECK(of_counts(server.server().staleness().of(0)) == std::vector<std::int64_t>{2, 1});
    CHECK(of_counts(server.server().staleness().of(1)) == std::vector<std::int64_t>{0, 0, 1});
    const auto log = server.server().log();
    REQUIRE(log.size() == 4);
    CHECK(log[2] == detail::served_push{.worker = 1, .round = 0, .read = 0, .applied = 3});
    CHECK(log[3] == detail::served_push{.worker = 0, .round = 2, .read = 2, .applied = 4});
}

TEST_CASE("asynchronous SGD on a quadratic is stable up to 2 sin(pi / (2 (2 tau + 1)))") {
    const auto grows = [](int tau, double rate, const auto& compensator) {
        const parameter_server options{sgd{.learning_rate = rate}, asynchronous{}, compensator};
        served server(options, tau + 1, {1.0f});
        // Workers take turns, so each gradient, of w^2 / 2, is tau steps old.
        double late = 0.0;
        for (int step = 0; step < 4000; ++step) {
            const int worker = step % (tau + 1);
            server.push(worker, {server.read_by(worker)[0]});
            const double size = std::abs(static_cast<double>(server.parameters()[0]));
            if (size > 1e6) return true;
            if (step >= 3900) late = std::max(late, size);
        }
        return late > 1.0;
    };
    for (const int tau : {0, 1, 2, 4, 8}) {
        const double bound = 2.0 * std::sin(std::numbers::pi / (2.0 * (2.0 * tau + 1.0)));
        CAPTURE(tau);
        CHECK_FALSE(grows(tau, 0.98 * bound, no_compensation{}));
        CHECK(grows(tau, 1.02 * bound, no_compensation{}));
        // Compensated exactly it is as if nothing were late.
        CHECK_FALSE(grows(tau, 0.98 * 2.0, exact_compensation{}));
        CHECK(grows(tau, 1.02 * 2.0, exact_compensation{}));
    }
}

TEST_CASE("of workers that left nothing is kept") {
    const parameter_server options{sgd{.learning_rate = 0.125}, asynchronous{},
                                   delay_compensation{.lambda = 0.25}};
    served server(options, 3, floats(100, 1.0f));
    for (const int worker : schedule) server.push(worker, floats(100, 0.5f));
    CHECK(server.server().kept_bytes() >= 3 * 100 * sizeof(float));
    server.detach(0);
    server.detach(1);
    CHECK(server.server().kept_bytes() <= 2 * 100 * sizeof(float));
    server.detach(2);
    CHECK(server.server().kept_bytes() == 100 * sizeof(float));
    server.attach(1);
    server.push(1, floats(100, 0.5f));
    CHECK(server.read_by(1) == of(server.parameters()));
}

TEST_CASE("a round of bulk synchrony makes one step by the mean, in the order of workers") {
    const parameter_server options{sgd{.learning_rate = 1.0}, bulk_synchronous{}};
    served server(options, 3, {0.0f});
    server.push(2, {3.0f});
    server.push(0, {6.0f});
    CHECK(server.has_read().empty());
    CHECK(server.parameters()[0] == 0.0f);
    server.push(1, {-3.0f});
    CHECK(server.has_read() == std::vector<int>{0, 1, 2});
    CHECK(server.parameters()[0] == -2.0f);
    CHECK(server.server().version() == 1);
    CHECK(server.server().kept_bytes() <= 2 * sizeof(float));  // all have read the same
}

TEST_CASE("a backup worker's late gradient is dropped, and it goes on with the others") {
    const parameter_server options{sgd{.learning_rate = 1.0}, bulk_synchronous{.backups = 1}};
    served server(options, 3, {0.0f});
    server.push(0, {2.0f});
    server.push(1, {4.0f});
    CHECK(server.parameters()[0] == -3.0f);
    CHECK(server.has_read() == std::vector<int>{0, 1});
    server.push(2, {100.0f});
    CHECK(server.parameters()[0] == -3.0f);
    CHECK(server.has_read() == std::vector<int>{2});
    CHECK(server.server().dropped() == 1);
    CHECK(server.server().log().back().applied == 0);
    server.push(2, {1.0f});
    server.push(1, {1.0f});
    CHECK(server.parameters()[0] == -4.0f);
}

TEST_CASE("a worker that begins anew after its gradient was dropped hears that it was") {
    const parameter_server options{sgd{.learning_rate = 1.0}, bulk_synchronous{.backups = 1}};
    const scratch_folder folder("dropped_gradient");
    served server(options, 3, {0.0f}), next(options, 3, {0.0f});
    server.push(0, {2.0f});
    server.push(1, {4.0f});
    server.push(2, {100.0f});  // too late
    detail::checkpoint::own_state kept(folder.path(), "server", "same");
    REQUIRE(kept.save(server.server(), 1));
    REQUIRE(kept.restore(next.server()) == 1);
    next.server().restored();
    for (auto* const anew : {&server, &next})
        for (int worker = 0; worker < 3; ++worker) {  // its answer is lost with the connection
            auto& s = anew->server();
            s.detach(worker);
            s.attach(worker);
            const auto answered = s.next_answer({});
            REQUIRE(answered);
            CHECK(answered->worker == worker);
            CHECK(answered->head.taken == (worker != 2));
        }
}

TEST_CASE("nobody waits for a worker that is gone, and what it gave counts") {
    const parameter_server options{sgd{.learning_rate = 1.0}, bulk_synchronous{}};
    served server(options, 3, {0.0f});
    server.push(0, {1.0f});
    server.push(1, {2.0f});
    server.detach(1);
    CHECK(server.parameters()[0] == 0.0f);
    server.detach(2);
    CHECK(server.parameters()[0] == -1.5f);
    CHECK(server.has_read() == std::vector<int>{0});
    server.attach(2);
    CHECK(server.has_read() == std::vector<int>{2});
    CHECK(server.read_by(2) == floats{-1.5f});
    server.push(0, {1.0f});
    CHECK(server.has_read().empty());
    server.push(2, {3.0f});
    CHECK(server.parameters()[0] == -3.5f);
}

TEST_CASE("who comes again inside a round that it has given to waits for the others") {
    const auto check = [](const auto& consistency) {
        const parameter_server options{sgd{.learning_rate = 1.0}, consistency};
        served server(options, 2, {0.0f});
        server.push(1, {4.0f});
        server.detach(1);
        server.attach(1);
        CHECK(server.has_read().empty());
        server.push(0, {2.0f});
        CHECK(server.parameters()[0] == -3.0f);
        CHECK(server.has_read() == std::vector<int>{0, 1});
        CHECK(server.read_by(1) == floats{-3.0f});
        server.push(1, {1.0f});
        server.push(0, {3.0f});
        CHECK(server.parameters()[0] == -5.0f);
        CHECK(server.server().log().size() == 4);
    };
    check(bulk_synchronous{});
    check(stale_synchronous{.bound = 0});
}

TEST_CASE("AdaDelay has the learning rate of any optimizer that tells it") {
    const auto step = [](const auto& optimizer) {
        const parameter_server options{optimizer, asynchronous{}, ada_delay{.c = 1.0}};
        served server(options, 2, {0.0f});
        server.push(0, {1.0f});
        const float before = server.parameters()[0];
        server.push(1, {1.0f});  // one step late, at step 1
        return server.parameters()[0] - before;
    };
    const float expected = static_cast<float>(-0.5 / (1.0 + 0.5 * std::sqrt(2.0)));
    CHECK(step(sgd{.learning_rate = 0.5}) == doctest::Approx(expected));
    CHECK(step(momentum_sgd{.learning_rate = 0.5, .momentum = 0.0}) == doctest::Approx(expected));
    CHECK(step(clipped{sgd{.learning_rate = 0.5}, 10.0}) == doctest::Approx(expected));
}

TEST_CASE("a gradient that is no number is its rank's, and nothing of its round was applied") {
    const float most = std::numeric_limits<float>::max();
    const auto check = [&](const auto& compensator) {
        const parameter_server options{sgd{.learning_rate = 1.0}, bulk_synchronous{}, compensator};
        served server(options, 2, {0.0f}, 3);  // ranks 3 and 4
        server.push(0, {1.0f});
        try {
            server.push(1, {NAN});
            FAIL("it was taken");
        } catch (const non_finite& e) {
            CHECK(e.rank() == 4);
        }
        CHECK(server.parameters()[0] == 0.0f);
    };
    check(no_compensation{});
    check(delay_compensation_of_rounds{.lambda = 0.5});
    const parameter_server options{sgd{.learning_rate = 1.0}, bulk_synchronous{}};
    served server(options, 2, {0.0f});
    server.push(0, {most});
    CHECK_THROWS_WITH_AS(server.push(1, {most}),
                         "the sum of the workers' gradients is not finite: tensor 'w', element 0",
                         error);
}

TEST_CASE("with a bound of s rounds a worker waits until the slowest is s behind") {
    const parameter_server options{sgd{.learning_rate = 1.0},
                                   stale_synchronous{.bound = 2, .averaged = false}};
    served server(options, 2, {0.0f});
    server.push(0, {1.0f});
    CHECK(server.has_read() == std::vector<int>{0});
    server.push(0, {1.0f});
    CHECK(server.has_read() == std::vector<int>{0});
    server.push(0, {1.0f});
    CHECK(server.has_read().empty());
    server.push(1, {1.0f});
    CHECK(server.has_read() == std::vector<int>{0, 1});
    CHECK(server.parameters()[0] == -4.0f);
}

TEST_CASE("DC-SSGD without lambda is the step by the mean, in any order of workers") {
    const floats a{4.0f, -8.0f}, b{12.0f, 0.0f};
    const auto led_to = [&](auto compensator, const floats& first, const floats& second) {
        const parameter_server options{sgd{.learning_rate = 0.5}, bulk_synchronous{}, compensator};
        served server(options, 2, {1.0f, 1.0f});
        server.push(0, first);
        server.push(1, second);
        return of(server.parameters());
    };
    const delay_compensation_of_rounds nothing{.lambda = 0.0}, some{.lambda = 0.25};
    CHECK(led_to(nothing, a, b) == led_to(no_compensation{}, a, b));
    CHECK(led_to(nothing, a, b) == led_to(nothing, b, a));
    // w1 = w - 0.25 a; w2 = w1 - 0.25 (b + lambda b^2 (w1 - w))
    CHECK(led_to(some, a, b) ==
          floats{1.0f - 1.0f - 0.25f * (12.0f + 0.25f * 144.0f * -1.0f), 3.0f});
    // A correction is at most a half of its gradient: 6 in place of 36.
    const delay_compensation_of_rounds bound{.lambda = 0.25, .bound = 0.5};
    CHECK(led_to(bound, a, b) == floats{1.0f - 1.0f - 0.25f * (12.0f - 6.0f), 3.0f});
}

TEST_CASE("a server that begins from what another one showed goes on as it would, bit for bit") {
    const parameter_server options{momentum_sgd{.learning_rate = 0.01}, asynchronous{},
                                   delay_compensation_adaptive{}};
    const scratch_folder folder("shard_server");
    served first(options, 3, floats{1, 2, 3, 4}), second(options, 3, floats{0, 0, 0, 0});
    int step = 0;
    for (const int worker : schedule) first.push(worker, gradient(worker, step++));
    detail::checkpoint::own_state kept(folder.path(), "server", "same");
    REQUIRE(kept.save(first.server(), 15));
    CHECK(kept.restore(second.server()) == 15);
    second.server().restored();
    CHECK(second.server().version() == 15);
    for (auto* const server : {&first, &second})
        for (int worker = 0; worker < 3; ++worker) {  // they read anew
            server->detach(worker);
            server->attach(worker);
        }
    for (const int worker : schedule) {
        const floats g = gradient(worker, step++);
        first.push(worker, g);
        second.push(worker, g);
        CHECK(of(first.parameters()) == of(second.parameters()));
        CHECK(first.read_by(worker) == second.read_by(worker));
    }
}

TEST_CASE("two calls of fit are one, bit for bit, also for what is kept for each worker") {
    const parameter_server options{momentum_sgd{.learning_rate = 0.01}, asynchronous{},
                                   delay_compensation_adaptive{.per_worker = true}};
    served once(options, 3, floats{1, 2, 3, 4}), twice(options, 3, floats{1, 2, 3, 4});
    int step = 0;
    for (const int worker : schedule) {
        const floats g = gradient(worker, step++);
        once.push(worker, g);
        twice.push(worker, g);
    }
    for (int worker = 0; worker < 3; ++worker) {
        once.attach(worker);  // reads anew, as after a call
        twice.done(worker);
    }
    for (int worker = 0; worker < 3; ++worker) twice.attach(worker);
    for (const int worker : schedule) {
        const floats g = gradient(worker, step++);
        once.push(worker, g);
        twice.push(worker, g);
        CHECK(of(once.parameters()) == of(twice.parameters()));
    }
}

TEST_CASE("a push that cannot be is refused, and changes nothing") {
    const parameter_server options{sgd{}, asynchronous{}};
    served server(options, 2, {1.0f});
    auto& s = server.server();
    CHECK_THROWS_AS(s.push(0, bytes(10), {}), malformed);
    bytes content(detail::wire::push_head_bytes(1));
    const std::uint64_t size = 0;
    detail::wire::write_push_head({.read = 1, .clock = 2}, std::span(&size, 1), content.data());
    CHECK_THROWS_AS(s.push(0, content, {}), malformed);  // of a version that is not yet
    CHECK_THROWS_AS(server.push(0, {NAN}), non_finite);
    CHECK(server.parameters()[0] == 1.0f);
}

TEST_CASE("a gradient of which the end is no number changes nothing, not even the beginning") {
    const parameter_server options{sgd{.learning_rate = 1.0}, asynchronous{}};
    const floats start(40000, 1.0f), good(40000, 0.5f);
    served server(options, 2, start);
    floats bad = good;
    bad[33333] = INFINITY;
    CHECK_THROWS_WITH_AS(server.push(0, bad),
                         "the gradient of rank 0 is not finite: tensor 'w', element 33333",
                         non_finite);
    CHECK(of(server.parameters()) == start);
    CHECK(server.server().version() == 0);
    server.push(1, good);
    CHECK(of(server.parameters()) == floats(40000, 0.5f));
    CHECK(server.server().version() == 1);
}
