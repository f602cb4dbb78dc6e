// Tensors that travel together, and rounds that fail while some of them are packed.

#include "sotto/strategies/detail/all_reduce/message_codec.hpp"
#include "sotto/strategies/detail/all_reduce/bucket.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "sotto/collectives/detail/fitting.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/strategies/detail/all_reduce/sum_operation.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "support/numbers.hpp"
#include "support/training.hpp"

using namespace sotto;
using testing::number_model;

namespace {

/// Floats as they are, but of a payload that is longer than its tensor.
struct too_long {
    struct state {
        bool sums(const tensor&) const { return true; }
        std::int64_t payload_size(const tensor& t) const { return t.size + 1; }
        void pack(const tensor&, std::span<const float>, std::span<float>) {}
        void unpack(const tensor&, std::span<const float>, std::span<float>) {}
        void encode(const tensor&, std::span<const float>, bytes&) {}
        void decode_add(const tensor&, byte_view, std::span<float>) {}
    };
    state bind(const layout&) const { return {}; }
};

/// Floats as they are.
struct as_they_are {
    struct state {
        bool sums(const tensor&) const { return true; }
        std::int64_t payload_size(const tensor& t) const { return t.size; }
        void pack(const tensor&, std::span<const float>, std::span<float>) {}
        void unpack(const tensor&, std::span<const float>, std::span<float>) {}
        void encode(const tensor&, std::span<const float>, bytes&) {}
        void decode_add(const tensor&, byte_view, std::span<float>) {}
    };
    state bind(const layout&) const { return {}; }
};

/// A collective that counts how often it starts, and with how many values.
struct counted_sum {
    std::vector<std::size_t>* starts;
    void start(std::span<float> values, tag) { starts->push_back(values.size()); }
    bool advance() { return true; }
};

}  // namespace

TEST_CASE("bucket: parts join one by one -> it starts with the last, whole") {
    std::vector<std::size_t> starts;
    as_they_are::state state;
    const detail::codec_of<as_they_are> codec(state);
    layout tensors;
    for (const char* name : {"a", "b", "c"}) tensors.add(name, {5});
    const std::vector<tensor> members(tensors.begin(), tensors.end());
    run_in_process(1, [&](in_process& transport) {
        detail::bucket sum(members, codec, transport,
                           [&](transport_ref, std::int64_t, wire::value_format) {
                               return detail::sum_operation(counted_sum{&starts});
                           });
        for (const std::int64_t round : {0, 1}) {
            starts.clear();
            for (const tensor& t : members) {
                CHECK(starts.empty());
                CHECK_FALSE(sum.started());
                CHECK_FALSE(sum.advance());
                CHECK(sum.part_of(codec, t, round).size() == 5);
                sum.join();
            }
            CHECK(starts == std::vector<std::size_t>{15});
            CHECK(sum.advance());
            sum.clear();
        }
    });
}

TEST_CASE("a round that fails after some were packed is as if it had never been") {
    run_in_process(1, [](in_process& transport) {
        for (const int fails_after : {1, 2, 3}) {
            number_model model;
            const layout tensors = model.layout();
            const auto size = static_cast<std::size_t>(tensors.size());
            std::vector<float> parameters(size), expected(size);
            const all_reduce strategy{sgd{.learning_rate = 0.5}, none{},
                                      detail::collectives::fitting{}, 1 << 20};
            auto state = strategy.bind(tensors, transport);
            auto twin = strategy.bind(tensors, transport);
            const std::vector<std::int64_t> batch{1, 2};
            detail::round_input<number_model> job{model, batch, 2, 0, 0.0};
            for (auto* each : {&state, &twin}) each->begin_epoch({.examples = 8, .batch_size = 2});
            for (job.step = 0; job.step < 3; ++job.step) {
                model.on_progress = [&](int announced) {
                    if (announced == fails_after) throw std::runtime_error("planned");
                };
                CHECK_THROWS_WITH_AS(state.round(job, parameters), "planned", std::runtime_error);
                CHECK(parameters == expected);
                model.on_progress = nullptr;
                state.round(job, parameters);  // of the same step
                twin.round(job, expected);
                CHECK(parameters == expected);
            }
        }
    });
}

TEST_CASE("a payload that is longer than its tensor is refused before it is packed") {
    std::string text;
    try {
        testing::train(1, all_reduce{sgd{}, too_long{}}, {.length = steps{1}});
    } catch (const invalid_option& e) {
        text = e.what();
    }
    CHECK(text ==
          "all_reduce: the compressor's payload of tensor 'first.weight' has 301 values; at most "
          "300, the tensor's size, are allowed");
}
