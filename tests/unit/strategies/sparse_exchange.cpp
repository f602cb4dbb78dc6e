// How entries travel under all_reduce: gathered, by owners who select once more, or dense.

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "sotto/collectives/all_gather.hpp"
#include "sotto/collectives/detail/all_gather_v.hpp"
#include "sotto/collectives/detail/sparse_all_reduce.hpp"
#include "sotto/collectives/sparse_all_reduce.hpp"
#include "sotto/compressors/dgc.hpp"
#include "sotto/compressors/residual.hpp"
#include "sotto/compressors/sampled_top_k.hpp"
#include "sotto/compressors/threshold.hpp"
#include "sotto/compressors/top_k.hpp"
#include "sotto/core/describe.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "support/allocation_count.hpp"
#include "support/generators.hpp"
#include "support/numbers.hpp"
#include "support/snapshot.hpp"

using namespace sotto;
using collectives::sparse_reduce_scatter;
using testing::number_model;

namespace {

/// Examples a rank, so that every rank's share of them is a power of two.
std::vector<std::int64_t> exact_shares(int world) {
    const auto whole = static_cast<std::int64_t>(std::bit_ceil(static_cast<unsigned>(world)));
    std::vector<std::int64_t> examples(static_cast<std::size_t>(world), 1);
    examples[0] = whole - (world - 1);
    return examples;
}

layout matrix(std::int64_t n) {
    layout tensors;
    tensors.add("w", {n, 1});
    return tensors;
}

/// Rounds of given gradients, multiples of 1/4, by plain SGD of rate 1 from zero; then `quiet`
/// rounds in which all gradients are zero.
struct history {
    std::vector<std::vector<float>> parameters, remembered;  // by rank
    std::vector<double> given;
    std::vector<std::int64_t> bytes_sent;  // in the last round
};

template <class Strategy>
history rounds(const Strategy& strategy, std::int64_t n, int count,
               const std::vector<std::int64_t>& examples, int quiet = 0) {
    const auto world = examples.size();
    std::int64_t total = 0;
    for (const std::int64_t e : examples) total += e;
    history all{std::vector<std::vector<float>>(world), std::vector<std::vector<float>>(world),
                std::vector<double>(static_cast<std::size_t>(n)), std::vector<std::int64_t>(world)};
    const auto gradient_of = [&](std::size_t rank, int step) {
        auto g = testing::integer_values(n, 1000 * static_cast<std::uint64_t>(step) + rank);
        for (float& value : g) value *= 0.25f;
        return g;
    };
    for (std::size_t rank = 0; rank < world; ++rank)
        for (int step = 0; step < count; ++step) {
            if (examples[rank] == 0) continue;
            const auto g = gradient_of(rank, step);
            for (std::size_t i = 0; i < g.size(); ++i)
                all.given[i] +=
                    double{g[i]} * static_cast<double>(examples[rank]) / static_cast<double>(total);
        }
    run_in_process(static_cast<int>(world), [&](in_process& t) {
        const auto rank = static_cast<std::size_t>(t.rank());
        number_model model(matrix(n));
        auto state = strategy.bind(model.layout(), t);
        std::vector<float> parameters(static_cast<std::size_t>(n));
        for (int step = 0; step < count + quiet; ++step) {
            model.spoil = [&](std::span<float> g) {
                std::ranges::fill(g, 0.0f);
                if (step < count) std::ranges::copy(gradient_of(rank, step), g.begin());
            };
            state.begin_epoch({.examples = examples[rank], .batch_size = total});
            detail::round_input<number_model> job{model, {0}, examples[rank], step, 10.0};
            all.bytes_sent[rank] = state.round(job, parameters).bytes_sent;
        }
        all.parameters[rank] = parameters;
        if constexpr (requires { state.compressor().memory().unsent(model.layout()[0]); }) {
            const auto unsent = state.compressor().memory().unsent(model.layout()[0]);
            all.remembered[rank].assign(unsent.begin(), unsent.end());
        }
    });
    return all;
}

/// What was applied and what is remembered.
std::vector<double> accounted(const history& all) {
    std::vector<double> sum(all.given.size());
    for (std::size_t i = 0; i < sum.size(); ++i) {
        sum[i] = -double{all.parameters[0][i]};
        for (const auto& memory : all.remembered) sum[i] += double{memory[i]};
    }
    return sum;
}

bool alike(const history& all) {
    return std::ranges::all_of(all.parameters,
                               [&](const auto& one) { return one == all.parameters[0]; });
}

const sgd plain{.learning_rate = 1.0};

dgc without_momentum(double density) {
    return {.density = density, .momentum = 0.0, .warm_up_epochs = 0.0};
}

/// SGD that does not get as far as the vote while `*fails`.
struct failing_sgd {
    sgd inner{};
    const bool* fails = nullptr;
    static constexpr bool linear = true;

    class state {
    public:
        state(const failing_sgd& options, const layout& tensors)
            : inner_(options.inner.bind(tensors)), fails_(options.fails) {}
        void begin_step(const step_info& step, std::span<const float> gradient) {
            if (*fails_) throw std::runtime_error("planned");
            inner_.begin_step(step, gradient);
        }
        void update(const tensor& t, std::span<float> parameters,
                    std::span<const float> gradient) noexcept {
            inner_.update(t, parameters, gradient);
        }
        void visit(auto&& field) { inner_.visit(field); }

    private:
        sgd::state inner_;
        const bool* fails_;
    };
    state bind(const layout& tensors) const { return {*this, tensors}; }
};

}  // namespace

TEST_CASE("given is applied and remembered, exactly, whoever it was sent to and came back to") {
    constexpr std::int64_t n = 700;
    for (const int world : {1, 2, 3, 4, 5, 6, 7, 8, 9, 16})
        for (const double kept : {0.25, 1.0, 3.0}) {
            const sparse_reduce_scatter by_owners{.kept = kept};
            const auto shares = exact_shares(world);
            const auto check = [&](const auto& compressor) {
                const history all = rounds(all_reduce{plain, compressor, by_owners}, n, 5, shares);
                CHECK(alike(all));
                CHECK(accounted(all) == all.given);
                CHECK(all.parameters[0] != std::vector<float>(n));
            };
            check(sparsified{top_k{.density = 0.05}, residual{}});
            check(sparsified{sampled_top_k{.density = 0.05}, residual{}});
            check(sparsified{threshold{.limit = 0.5}, residual{}});
            check(without_momentum(0.05));
        }
}

TEST_CASE("ranks without data own stripes all the same, and remember what is left there") {
    constexpr std::int64_t n = 700;
    const auto sparsely =
        all_reduce{plain, sparsified{top_k{.density = 0.1}, residual{}}, sparse_reduce_scatter{}};
    for (const auto& examples :
         {std::vector<std::int64_t>{0, 2}, {1, 0, 0, 1}, {0, 0, 4, 0, 0}, {1, 1, 1, 0, 1}}) {
        const history all = rounds(sparsely, n, 4, examples);
        CHECK(alike(all));
        CHECK(accounted(all) == all.given);
        bool remembers = false;
        for (std::size_t rank = 0; rank < examples.size(); ++rank)
            remembers |= examples[rank] == 0 && all.remembered[rank] != std::vector<float>(n);
        CHECK(remembers);
    }
}

TEST_CASE("what waits is sent when no more comes, also by ranks that never have data") {
    const auto check = [](const auto& strategy, std::int64_t n,
                          const std::vector<std::int64_t>& examples) {
        const history all = rounds(strategy, n, 4, examples, 60);
        CHECK(alike(all));
        CHECK(accounted(all) == all.given);
        for (const auto& memory : all.remembered)
            CHECK(std::ranges::all_of(memory, [](float waiting) { return waiting == 0.0f; }));
    };
    const auto compressor = sparsified{top_k{.density = 0.07}, residual{}};
    for (const auto& examples :
         {std::vector<std::int64_t>{0, 2}, {1, 0, 0, 1}, {0, 0, 4, 0, 0}, {1, 1, 1, 0, 1}}) {
        check(all_reduce{plain, compressor, sparse_reduce_scatter{}}, 700, examples);
        check(all_reduce{plain, without_momentum(0.07), sparse_reduce_scatter{}}, 700, examples);
    }
    // By default from nine ranks on.
    check(all_reduce{plain, compressor}, 20'000, {1, 1, 1, 0, 1, 1, 1, 1, 1});
}

TEST_CASE("in halves nothing is lost either") {
    constexpr std::int64_t n = 700;
    auto compressor =
        sparsified{top_k{.density = 0.1}, residual{}, constant_density{}, local_clipping{}, {}};
    for (const auto format : {wire::value_format::fp16, wire::value_format::bf16}) {
        compressor.message.values = format;
        for (const int world : {1, 4, 5}) {
            const history all = rounds(all_reduce{plain, compressor, sparse_reduce_scatter{}}, n, 5,
                                       exact_shares(world));
            CHECK(alike(all));
            CHECK(accounted(all) == all.given);
        }
    }
}

TEST_CASE("at density 1 nothing is selected any more: the sum is dense, and all is applied") {
    constexpr std::int64_t n = 300;
    for (const int world : {1, 2, 4, 5}) {
        const auto shares = exact_shares(world);
        const history all = rounds(all_reduce{plain, sparsified{top_k{.density = 1.0}, residual{}},
                                              sparse_reduce_scatter{}},
                                   n, 3, shares);
        CHECK(all.parameters == rounds(all_reduce{plain}, n, 3, shares).parameters);
        for (const auto& memory : all.remembered) CHECK(memory == std::vector<float>(n));
    }
}

TEST_CASE("where nothing is left over, owners give the bits that gathering gives") {
    constexpr std::int64_t n = 2000;
    for (const int world : {1, 2, 3, 5, 9}) {
        const auto shares = exact_shares(world);
        const auto compressor = sparsified{top_k{.density = 0.02}, residual{}};
        const history by_owners = rounds(
            all_reduce{plain, compressor, sparse_reduce_scatter{.kept = 1000.0}}, n, 4, shares);
        const history gathered =
            rounds(all_reduce{plain, compressor, collectives::all_gather{}}, n, 4, shares);
        CHECK(by_owners.parameters == gathered.parameters);
        CHECK(by_owners.remembered == gathered.remembered);
    }
}

TEST_CASE("sparse_reduce_scatter: kept all -> the bits of gathering") {
    for (const std::int64_t n : {40, 2000})
        for (const int world : {1, 2, 3, 4, 9})
            for (const double density : {0.01, 0.1, 0.5}) {
                CAPTURE(world);
                CAPTURE(density);
                const auto shares = exact_shares(world);
                const auto compressor = sparsified{top_k{.density = density}, residual{}};
                const history by_owners =
                    rounds(all_reduce{plain, compressor,
                                      sparse_reduce_scatter{.kept = sparse_reduce_scatter::all}},
                           n, 4, shares);
                const history gathered =
                    rounds(all_reduce{plain, compressor, collectives::all_gather{}}, n, 4, shares);
                CHECK(by_owners.parameters == gathered.parameters);
                CHECK(by_owners.remembered == gathered.remembered);
            }
}

TEST_CASE("sparse_reduce_scatter: default -> as many sums as one rank sends") {
    constexpr std::int64_t n = 2000, sent = 20;
    const auto changed = [&](const auto& collective) {
        const history all =
            rounds(all_reduce{plain, sparsified{top_k{.density = 0.01}, residual{}}, collective}, n,
                   1, exact_shares(4));
        return std::ranges::count_if(all.parameters[0], [](float w) { return w != 0.0f; });
    };
    const auto gathered = changed(collectives::all_gather{});
    CHECK(gathered > 2 * sent);
    CHECK(changed(sparse_reduce_scatter{.kept = sparse_reduce_scatter::all}) == gathered);
    CHECK(changed(sparse_reduce_scatter{}) <= sent);
    CHECK(changed(sparse_reduce_scatter{.kept = 2.0}) <= 2 * sent);
}

TEST_CASE("sparse_reduce_scatter: kept all -> described by name") {
    const auto text = [](double kept) {
        return detail::description{}.add("collective", sparse_reduce_scatter{.kept = kept}).text();
    };
    CHECK(text(1.0).ends_with("collective.kept = 1\n"));
    CHECK(text(sparse_reduce_scatter::all).ends_with("collective.kept = all\n"));
    run_in_process(1, [&](in_process& t) {
        CHECK_NOTHROW(sparse_reduce_scatter{.kept = sparse_reduce_scatter::all}.bind(t, 100, 10));
        for (const double kept : {0.0, -1.0, -0.5, std::nan(""), HUGE_VAL})
            CHECK_THROWS_AS(sparse_reduce_scatter{.kept = kept}.bind(t, 100, 10), invalid_option);
    });
}

TEST_CASE("by default few ranks gather, and more than eight leave large tensors to owners") {
    constexpr std::int64_t n = 20'000;
    const auto compressor = sparsified{top_k{.density = 0.07}, residual{}};
    for (const int world : {8, 9}) {
        const auto shares = exact_shares(world);
        const auto by = [&](const auto& collective) {
            return rounds(all_reduce{plain, compressor, collective}, n, 3, shares).parameters;
        };
        const auto fitting = by(detail::collectives::fitting{});
        CHECK((fitting == by(collectives::all_gather{})) == (world == 8));
        CHECK((fitting == by(sparse_reduce_scatter{})) == (world == 9));
    }
    // Small tensors, and compressors that cannot take anything back, are gathered.
    const auto shares = exact_shares(9);
    for (const double density : {0.01, 0.07}) {
        const top_k forgetful{.density = density};
        CHECK(rounds(all_reduce{plain, forgetful}, n, 2, shares).parameters ==
              rounds(all_reduce{plain, forgetful, collectives::all_gather{}}, n, 2, shares)
                  .parameters);
    }
    const auto few = sparsified{top_k{.density = 0.01}, residual{}};
    CHECK(rounds(all_reduce{plain, few}, n, 2, shares).parameters ==
          rounds(all_reduce{plain, few, collectives::all_gather{}}, n, 2, shares).parameters);
}

TEST_CASE("when the result has filled in, a dense sum is sent instead, of the same entries") {
    constexpr std::int64_t n = 20'000;
    const auto shares = exact_shares(4);
    const auto by = [&](double density, const auto& collective) {
        return rounds(
            all_reduce{plain, sparsified{top_k{.density = density}, residual{}}, collective}, n, 3,
            shares);
    };
    const history dense = by(0.8, detail::collectives::fitting{}),
                  gathered = by(0.8, collectives::all_gather{});
    CHECK(dense.parameters == gathered.parameters);
    CHECK(dense.remembered == gathered.remembered);
    for (std::size_t rank = 0; rank < 4; ++rank) {
        CHECK(dense.bytes_sent[rank] == 2 * 3 * n);  // 2 (N-1)/N of 4 n
        CHECK(gathered.bytes_sent[rank] > 9 * n);
    }
    CHECK(by(0.4, detail::collectives::fitting{}).bytes_sent ==
          by(0.4, collectives::all_gather{}).bytes_sent);
}

TEST_CASE("a schedule passes from dense sums to entries, and nothing is lost on the way") {
    constexpr std::int64_t n = 100'000;
    run_in_process(8, [&](in_process& t) {
        number_model model(matrix(n));
        model.spoil = [&](std::span<float> g) {
            std::ranges::copy(testing::integer_values(n, static_cast<std::uint64_t>(t.rank())),
                              g.begin());
        };
        const auto strategy = [](auto collective) {
            return all_reduce{plain,
                              sparsified{top_k{.density = 0.01}, residual{}, warm_up{.epochs = 4}},
                              collective};
        };
        auto fitting = strategy(detail::collectives::fitting{}).bind(model.layout(), t);
        auto gathering = strategy(collectives::all_gather{}).bind(model.layout(), t);
        std::vector<float> by_table(static_cast<std::size_t>(n)), by_name = by_table;
        std::vector<bool> fewer_bytes;
        for (std::int64_t step = 0; step < 6; ++step) {
            const auto round = [&](auto& state, std::vector<float>& parameters) {
                state.begin_epoch({.examples = 1, .batch_size = 1});
                detail::round_input<number_model> job{
                    model, {0}, 1, step, static_cast<double>(step)};
                return state.round(job, parameters).bytes_sent;
            };
            const std::int64_t sent = round(fitting, by_table);
            fewer_bytes.push_back(sent < round(gathering, by_name));
            CHECK(by_table == by_name);
        }
        CHECK(fewer_bytes[0]);
        CHECK_FALSE(fewer_bytes[5]);
    });
}

TEST_CASE("a round that fails after sums came back is as if it had never been") {
    bool fails = false;
    const all_reduce strategy{failing_sgd{plain, &fails},
                              sparsified{top_k{.density = 0.2}, residual{}},
                              sparse_reduce_scatter{.kept = 0.25}};
    run_in_process(1, [&](in_process& t) {
        number_model model;
        const std::vector<std::int64_t> batch{1, 2};
        std::vector<float> parameters(static_cast<std::size_t>(model.layout().size()));
        auto expected = parameters;
        auto state = strategy.bind(model.layout(), t), twin = strategy.bind(model.layout(), t);
        state.begin_epoch({.examples = 2, .batch_size = 2});
        twin.begin_epoch({.examples = 2, .batch_size = 2});
        for (std::int64_t step = 0; step < 6; ++step) {
            const std::int64_t examples = step % 3 == 2 ? 0 : 2;
            const testing::snapshot before(state);
            detail::round_input<number_model> job{model, batch, examples, step, 0.0};
            fails = true;
            CHECK_THROWS_AS(state.round(job, parameters), std::runtime_error);
            CHECK(testing::snapshot(state) == before);
            CHECK(parameters == expected);
            fails = false;
            state.round(job, parameters);
            twin.round(job, expected);
            CHECK(parameters == expected);
            CHECK(testing::snapshot(state) == testing::snapshot(twin));
        }
    });
}

TEST_CASE("training resumed from a checkpoint's values goes on bit for bit") {
    const all_reduce strategy{sgd{.learning_rate = 0.1}, dgc{.density = 0.1, .warm_up_epochs = 0},
                              sparse_reduce_scatter{}};
    std::vector<std::vector<float>> expected(3), resumed(3);
    run_in_process(3, [&](in_process& t) {
        const auto rank = static_cast<std::size_t>(t.rank());
        number_model model;
        model.pull = 0.3f;
        const std::vector<std::int64_t> batch{t.rank(), 5, 9};
        const auto rounds = [&](auto& state, std::vector<float>& parameters, std::int64_t from,
                                std::int64_t to) {
            for (std::int64_t step = from; step < to; ++step) {
                state.begin_epoch({.examples = 3, .batch_size = 3});
                detail::round_input<number_model> job{model, batch, 3, step, 0.0};
                state.round(job, parameters);
            }
        };
        expected[rank].assign(static_cast<std::size_t>(model.layout().size()), 1.0f);
        auto first = strategy.bind(model.layout(), t);
        rounds(first, expected[rank], 0, 6);
        const testing::snapshot saved(first);
        resumed[rank] = expected[rank];
        rounds(first, expected[rank], 6, 12);
        auto second = strategy.bind(model.layout(), t);
        saved.put_into(second);
        rounds(second, resumed[rank], 6, 12);
    });
    CHECK(resumed == expected);
}

TEST_CASE("with what waits at owners training reaches the minimum that it reaches without") {
    // Each rank pulls to another place; what all want is their mean.
    constexpr int world = 5;
    const auto distance_after = [](int count, const auto& strategy) {
        double distance = 0.0;
        run_in_process(world, [&](in_process& t) {
            number_model model(matrix(400));
            model.pull = 1.0f;
            std::vector<float> parameters(400, 3.0f);
            auto state = strategy.bind(model.layout(), t);
            for (std::int64_t step = 0; step < count; ++step) {
                state.begin_epoch({.examples = 1, .batch_size = 1});
                detail::round_input<number_model> job{model, {t.rank()}, 1, step, 10.0};
                state.round(job, parameters);
            }
            if (t.rank() != 0) return;
            for (std::size_t i = 0; i < parameters.size(); ++i) {
                double minimum = 0.0;
                for (int rank = 0; rank < world; ++rank)
                    minimum -= static_cast<double>(number_model::value(rank, i)) / world;
                distance = std::max(distance, std::abs(double{parameters[i]} - minimum));
            }
        });
        return distance;
    };
    // What is left in the end are the parts that wait: by gathering 0.3 at this rate, too.
    const all_reduce strategy{sgd{.learning_rate = 0.02},
                              sparsified{top_k{.density = 0.1}, residual{}},
                              sparse_reduce_scatter{}};
    CHECK(distance_after(10, strategy) > 5.0);
    CHECK(distance_after(400, strategy) < 0.5);
}

TEST_CASE("a step takes no memory after the first, whichever way entries go") {
    if (!support::allocation_count::works) return;
    constexpr std::int64_t n = 20'000;
    const auto taken_by = [](const auto& strategy) {
        std::vector<std::int64_t> counts(4);
        run_in_process(4, [&](in_process& t) {
            number_model model(matrix(n));
            auto state = strategy.bind(model.layout(), t);
            std::vector<float> parameters(static_cast<std::size_t>(n));
            const std::vector<std::int64_t> batch{t.rank()};
            state.begin_epoch({.examples = 10, .batch_size = 1});
            const auto round = [&](std::int64_t step) {
                detail::round_input<number_model> job{model, batch, 1, step, 0.0};
                state.round(job, parameters);
            };
            round(0);
            round(1);
            const support::allocation_count taken;
            for (std::int64_t step = 2; step < 8; ++step) round(step);
            counts[static_cast<std::size_t>(t.rank())] = taken.on_this_thread();
        });
        return *std::max_element(counts.begin(), counts.end());
    };
    // A round's report lists bytes by tensor.
    const std::int64_t dense = taken_by(all_reduce{plain});
    for (const double density : {0.01, 0.8}) {
        const auto compressor = sparsified{top_k{.density = density}, residual{}};
        CHECK(taken_by(all_reduce{plain, compressor, sparse_reduce_scatter{}}) == dense);
        CHECK(taken_by(all_reduce{plain, compressor}) == dense);
    }
}

TEST_CASE("how much is kept is part of what ranks compare") {
    const std::string text =
        detail::description{}
            .add("strategy", all_reduce{sgd{}, dgc{}, sparse_reduce_scatter{.kept = 2.0}})
            .text();
    CHECK(text.find("sparse_reduce_scatter") != std::string::npos);
    CHECK(text.find("strategy.collective.kept = 2") != std::string::npos);
}
