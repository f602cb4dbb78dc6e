#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "sotto/core/random.hpp"
#include "sotto/data/augmented.hpp"
#include "sotto/data/dataset.hpp"
#include "sotto/data/digits.hpp"
#include "sotto/models/softmax_regression.hpp"
#include "sotto/optimizers/momentum_sgd.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "support/numbers.hpp"

using namespace sotto;
using testing::numbered, testing::number_model;

namespace {

/// How examples looked when they were read for training: (example, what was drawn for it). And how
/// many were read plainly.
struct record {
    std::mutex one_at_a_time;
    std::multiset<std::pair<std::int64_t, std::uint64_t>> looks;
    std::int64_t plain = 0;
};

struct varying {
    using batch_type = numbered::batch_type;
    numbered inner;
    record* into;

    std::int64_t size() const { return inner.size(); }
    void gather(std::span<const std::int64_t> indices, batch_type& batch) const {
        const std::lock_guard lock(into->one_at_a_time);
        into->plain += static_cast<std::int64_t>(indices.size());
        inner.gather(indices, batch);
    }
    void gather(std::span<const std::int64_t> indices, batch_type& batch,
                const random_stream& draws) const {
        const std::lock_guard lock(into->one_at_a_time);
        inner.gather(indices, batch);
        for (const std::int64_t i : indices)
            into->looks.emplace(inner.first + i,
                                draws.split(static_cast<std::uint64_t>(i)).bits64());
    }
};
static_assert(detail::varying_dataset<varying> && !detail::varying_dataset<numbered>);

/// What ranks saw of 24 examples in two epochs. Each of `lengths` is a call of fit.
auto looks(int world, std::int64_t batch_size, std::uint64_t seed,
           std::vector<detail::training_length> lengths) {
    record seen;
    run_in_process(world, [&](in_process& transport) {
        number_model model;
        trainer trainer{
            model, all_reduce{sgd{}}, transport, {.batch_size = batch_size, .seed = seed}};
        for (const detail::training_length& length : lengths)
            trainer.fit(varying{numbered{24}, &seen}, length);
    });
    CHECK(seen.plain == 0);
    CHECK(seen.looks.size() == 48);
    return seen.looks;
}

/// Parameters after training on digits that vary.
std::vector<float> learnt(std::vector<detail::training_length> lengths, bool vary = true) {
    const auto digits = data::digits(64);
    const data::augmented varied{digits, {.padding = 3}};
    std::vector<float> parameters;
    run_in_process(2, [&](in_process& transport) {
        models::softmax_regression model{784, 10};
        trainer trainer{model, all_reduce{momentum_sgd{}}, transport, {.batch_size = 8}};
        for (const detail::training_length& length : lengths)
            vary ? trainer.fit(varied, length) : trainer.fit(digits, length);
        if (transport.rank() == 0)
            parameters.assign(trainer.parameters().begin(), trainer.parameters().end());
    });
    return parameters;
}

}  // namespace

TEST_CASE("what an example looks like in an epoch does not depend on who reads it in which batch") {
    const auto alone = looks(1, 8, 1, {epochs{2}});
    CHECK(looks(4, 2, 1, {epochs{2}}) == alone);
    CHECK(looks(3, 5, 1, {epochs{2}}) == alone);
    CHECK(looks(1, 8, 2, {epochs{2}}) != alone);
    const std::set<std::pair<std::int64_t, std::uint64_t>> different(alone.begin(), alone.end());
    CHECK(different.size() == 48);  // another look for each example in each epoch
}

TEST_CASE("examples look the same when training stops and goes on in the middle of an epoch") {
    CHECK(looks(2, 4, 1, {steps{2}, steps{3}, steps{1}}) == looks(2, 4, 1, {epochs{2}}));
    CHECK(learnt({steps{3}, steps{2}, steps{7}}) == learnt({steps{12}}));
    CHECK(learnt({steps{12}}) == learnt({epochs{3}}));
    CHECK(learnt({steps{12}}) != learnt({steps{12}}, false));
}

TEST_CASE("examples that are a rank's own look different from another rank's") {
    record seen;
    run_in_process(2, [&](in_process& transport) {
        number_model model;
        trainer trainer{model, all_reduce{sgd{}}, transport, {.batch_size = 4}};
        trainer.fit(local_data{varying{numbered{12}, &seen}}, epochs{1});
    });
    CHECK(seen.looks.size() == 24);
    const std::set<std::pair<std::int64_t, std::uint64_t>> different(seen.looks.begin(),
                                                                     seen.looks.end());
    CHECK(different.size() == 24);
}

TEST_CASE("an evaluation reads examples plainly") {
    record seen;
    run_in_process(2, [&](in_process& transport) {
        number_model model;
        trainer trainer{model, all_reduce{sgd{}}, transport, {.batch_size = 4}};
        trainer.evaluate(varying{numbered{10}, &seen});
        trainer.fit(varying{numbered{8}, &seen}, epochs{2},
                    evaluate_on{varying{numbered{6}, &seen}});
    });
    CHECK(seen.plain == 10 + 2 * 6);
    CHECK(seen.looks.size() == 16);
}
