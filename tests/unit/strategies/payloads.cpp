// Tensors that are summed in several payloads, of which each is made when the sum of the one before
// is there.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <vector>

#include "sotto/collectives/all_gather.hpp"
#include "sotto/collectives/detail/plan.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "support/generators.hpp"
#include "support/numbers.hpp"
#include "support/training.hpp"

using namespace sotto;

namespace {

/// Sends matrices part by part, vectors at once: what all receive is the plain sum.
struct part_by_part {
    int parts = 3;
    std::int64_t too_many = 0;  // values by which the last part is longer than it may be
    const bool* fails = nullptr;

    static constexpr bool summable = true;
    class state;
    state bind(const layout& tensors) const;
};

class part_by_part::state {
public:
    state(const part_by_part& options, const layout& tensors)
        : options_(options),
          gradient_(static_cast<std::size_t>(tensors.size())),
          sum_(gradient_),
          packed_(tensors.tensors().size()) {}

    void encode(const tensor&, std::span<const float>, bytes&) {}
    void decode_add(const tensor&, byte_view, std::span<float>) {}

    void begin_round(const round_info&) { std::fill(packed_.begin(), packed_.end(), 0); }

    bool sums(const tensor&) const { return true; }
    bool gathers(const tensor&) const { return false; }
    int payload_count(const tensor& t) const { return t.is_vector() ? 1 : options_.parts; }
    std::int64_t payload_size(const tensor& t) const { return part(t, 0).size(); }
    std::int64_t payload_size(const tensor& t, int number) const {
        return part(t, number).size() + (number == options_.parts - 1 ? options_.too_many : 0);
    }

    void pack(const tensor& t, std::span<const float> gradient, std::span<float> payload) {
        std::copy(gradient.begin(), gradient.end(), t.of(std::span(gradient_)).begin());
        std::copy_n(gradient.begin(), payload.size(), payload.begin());
        packed_[slot(t)] = 1;
    }

    void pack_next(const tensor& t, int number, std::span<const float> payload_sum,
                   std::span<float> payload) {
        keep(t, number - 1, payload_sum);
        if (packed_[slot(t)] == 0) {  // must not be sent
            std::fill(payload.begin(), payload.end(), std::numeric_limits<float>::quiet_NaN());
            return;
        }
        ++packed_[slot(t)];
        const auto own = t.of(std::span<const float>(gradient_));
        std::copy_n(own.begin() + part(t, number).begin, payload.size(), payload.begin());
        if (options_.fails && *options_.fails) throw std::runtime_error("planned");
    }

    void unpack(const tensor& t, std::span<const float> payload_sum, std::span<float> sum) {
        keep(t, payload_count(t) - 1, payload_sum);
        if (packed_[slot(t)] != 0) CHECK(packed_[slot(t)] == payload_count(t));
        std::ranges::copy(t.of(std::span<const float>(sum_)), sum.begin());
    }

private:
    static std::size_t slot(const tensor& t) { return static_cast<std::size_t>(t.index); }

    detail::collectives::range part(const tensor& t, int number) const {
        return detail::collectives::part_of(t.size, payload_count(t), number);
    }
    void keep(const tensor& t, int number, std::span<const float> payload_sum) {
        const auto where = part(t, number);
        REQUIRE(static_cast<std::int64_t>(payload_sum.size()) == where.size());
        std::copy(payload_sum.begin(), payload_sum.end(),
                  t.of(std::span(sum_)).begin() + where.begin);
    }

    part_by_part options_;
    std::vector<float> gradient_, sum_;
    std::vector<int> packed_;  // payloads of this round, per tensor
};

part_by_part::state part_by_part::bind(const layout& tensors) const {
    return {*this, tensors};
}

sgd plain() {
    return {.learning_rate = 0.0625};
}

}  // namespace

TEST_CASE("payloads one after the other give the plain sum, in any order of announcement") {
    using testing::announces;
    testing::exercise work{.length = steps{5}};
    for (const int world : {1, 2, 4}) {
        const auto expected = testing::train(world, all_reduce{plain()}, work);
        for (const int parts : {1, 2, 3, 7})
            for (const announces order : {announces::last_to_first, announces::first_to_last,
                                          announces::some, announces::none}) {
                work.model.order = order;
                const auto found =
                    testing::train(world, all_reduce{plain(), part_by_part{parts}}, work);
                for (std::size_t rank = 0; rank < found.size(); ++rank)
                    CHECK(found[rank].same_parameters(expected[rank]));
            }
    }
}

TEST_CASE("every summing collective carries them, and all_gather leaves them to one") {
    const testing::exercise work{.length = steps{4}};
    const auto expected = testing::train(4, all_reduce{plain()}, work);
    const auto same = [&](const auto& strategy) {
        return testing::train(4, strategy, work)[3].same_parameters(expected[3]);
    };
    CHECK(same(all_reduce{plain(), part_by_part{}, collectives::ring{}}));
    CHECK(same(all_reduce{plain(), part_by_part{}, collectives::tree{}}));
    CHECK(same(all_reduce{plain(), part_by_part{}, collectives::halving_doubling{}}));
    CHECK(same(all_reduce{plain(), part_by_part{}, collectives::recursive_doubling{}}));
    CHECK(same(all_reduce{plain(), part_by_part{}, collectives::all_gather{}}));
}

TEST_CASE("a rank without data sends zeros in all of them") {
    for (const auto& own : {std::vector<std::int64_t>{8, 0}, {8, 4}, {2, 0, 8, 0}}) {
        const testing::exercise work{.batch_size = 2, .length = epochs{2}, .own = own};
        const int world = static_cast<int>(own.size());
        const auto found = testing::train(world, all_reduce{plain(), part_by_part{}}, work);
        CHECK(agree(found));
        CHECK(found[0].same_parameters(testing::train(world, all_reduce{plain()}, work)[0]));
    }
}

TEST_CASE("the report counts the bytes of all payloads") {
    const layout tensors = testing::small_layout();
    run_in_process(2, [&](in_process& transport) {
        testing::number_model model(tensors);
        auto state = all_reduce{plain(), part_by_part{}}.bind(tensors, transport);
        std::vector<float> parameters(static_cast<std::size_t>(tensors.size()));
        state.begin_epoch({.examples = 1});
        detail::round_input<testing::number_model> job{model, {0}, 1, 0, 0.0};
        const auto report = state.round(job, parameters);
        CHECK(report.message_bytes == 4 * tensors.size());
    });
}

TEST_CASE("payloads that are longer than the tensor together are refused") {
    CHECK_THROWS_WITH_AS(testing::train(1, all_reduce{plain(), part_by_part{2, 5}}),
                         "all_reduce: the compressor's payloads of tensor 'second.weight' have 705 "
                         "values together; at most 700, the tensor's size, are allowed",
                         invalid_option);
}

TEST_CASE("a round that fails between two payloads can be taken again by a rank alone") {
    const layout tensors = testing::small_layout();
    bool fails = false;
    run_in_process(1, [&](in_process& transport) {
        testing::number_model model(tensors);
        auto state = all_reduce{plain(), part_by_part{.fails = &fails}}.bind(tensors, transport);
        std::vector<float> parameters(static_cast<std::size_t>(tensors.size())), before;
        state.begin_epoch({.examples = 4});
        for (std::int64_t step = 0; step < 4; ++step) {
            detail::round_input<testing::number_model> job{model, {step}, 1, step, 0.0};
            before = parameters;
            fails = true;
            CHECK_THROWS_WITH(state.round(job, parameters), "planned");
            CHECK(parameters == before);
            fails = false;
            state.round(job, parameters);
            CHECK_FALSE(parameters == before);
        }
    });
}
