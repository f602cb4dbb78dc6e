#include "sotto/collectives/all_gather.hpp"
#include "sotto/strategies/all_reduce.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "sotto/compressors/dgc.hpp"
#include "sotto/compressors/residual.hpp"
#include "sotto/compressors/top_k.hpp"
#include "sotto/core/describe.hpp"
#include "sotto/optimizers/momentum_sgd.hpp"
#include "sotto/transports/metered.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "support/numbers.hpp"
#include "support/snapshot.hpp"
#include "support/training.hpp"

using namespace sotto;
using testing::number_model;

namespace {

/// A compressor that has no more than it must: floats as they are.
struct plain_floats {
    struct state {
        void encode(const tensor&, std::span<const float> gradient, bytes& out) {
            const auto raw = std::as_bytes(gradient);
            out.insert(out.end(), raw.begin(), raw.end());
        }
        void decode_add(const tensor& t, byte_view message, std::span<float> sum) {
            if (message.size() != 4 * sum.size())
                throw malformed(
                    detail::message_of{t}(),
                    {0, "a float for every element", static_cast<std::int64_t>(message.size())});
            for (std::size_t i = 0; i < sum.size(); ++i) {
                float value;
                std::memcpy(&value, message.data() + 4 * i, sizeof value);
                sum[i] += value;
            }
        }
    };
    state bind(const layout&) const { return {}; }
};

/// Writes more than it said.
struct talkative : plain_floats {
    struct state : plain_floats::state {
        std::int64_t message_bytes_max(const tensor&) const { return 10; }
    };
    state bind(const layout&) const { return {}; }
};

/// One rank sends what nobody can read.
struct garbled : plain_floats {
    struct state : plain_floats::state {
        int rank = 0;
        void begin_round(const round_info& where) { rank = where.rank; }
        void encode(const tensor& t, std::span<const float> gradient, bytes& out) {
            plain_floats::state::encode(t, gradient, out);
            if (rank == 1 && t.name == "first.bias") out.pop_back();
        }
    };
    state bind(const layout&) const { return {}; }
};

/// Cannot read the last tensor while `*fails`.
struct deaf : plain_floats {
    const bool* fails = nullptr;
    struct state : plain_floats::state {
        const bool* fails = nullptr;
        void decode_add(const tensor& t, byte_view message, std::span<float> sum) {
            if (*fails && t.name == "second.weight") throw std::runtime_error("planned");
            plain_floats::state::decode_add(t, message, sum);
        }
    };
    state bind(const layout&) const { return {{}, fails}; }
};

template <class Strategy>
std::string failure(int world, const Strategy& strategy) {
    try {
        testing::train(world, strategy, {.length = steps{1}});
    } catch (const error& e) {
        return e.what();
    }
    return "";
}

}  // namespace

TEST_CASE("a compressor that only encodes and decodes trains as well as none") {
    const auto whole = testing::train(4, all_reduce{sgd{.learning_rate = 0.0625}});
    const auto gathered =
        testing::train(4, all_reduce{sgd{.learning_rate = 0.0625}, plain_floats{}});
    CHECK(agree(gathered));
    CHECK(gathered[0].same_parameters(whole[0]));
}

TEST_CASE("a message longer than announced is refused where it is written") {
    CHECK(failure(2, all_reduce{sgd{}, talkative{}}) ==
          "all_reduce: the compressor wrote 2800 bytes for tensor 'second.weight' where its "
          "message_bytes_max allows 10");
}

TEST_CASE("unreadable message: any rank reads it first -> its sender failed") {
    // Where it is noticed depends on whether it is here before all gradients are computed.
    const std::string text = failure(3, all_reduce{sgd{}, garbled{}});
    CHECK(text.starts_with(
        "rank 1 failed: what it sent cannot be read: the message for tensor 'first.bias': at "
        "byte 0 expected a float for every element, found 47 (noticed in phase '"));
    CHECK(text.ends_with("', round 0)"));
}

TEST_CASE("an epoch lasts as long as the rank with most data needs, and ends for all at a wish") {
    run_in_process(3, [](in_process& transport) {
        const layout tensors = testing::small_layout();
        auto state = all_reduce{}.bind(tensors, transport);
        const int rank = transport.rank();
        CHECK(state.share() == detail::data::share{rank, 3});
        const std::int64_t examples[]{9, 0, 17};
        auto agreed = state.begin_epoch({.examples = examples[rank], .batch_size = 4});
        CHECK(agreed.rounds == 5);
        CHECK_FALSE(agreed.stop);
        agreed = state.begin_epoch({.examples = 1, .batch_size = 4, .stop = rank == 2});
        CHECK(agreed.rounds == 1);
        CHECK(agreed.stop);
        CHECK(state.begin_epoch({.examples = 0, .batch_size = 4}).rounds == 0);
    });
}

TEST_CASE("plans of an epoch that do not fit each other are refused with both") {
    const auto refused = [](detail::epoch_plan plan_of_rank_1) {
        std::string text;
        run_in_process(2, [&](in_process& transport) {
            auto state = all_reduce{}.bind(testing::small_layout(), transport);
            const detail::epoch_plan fine{.examples = 10, .batch_size = 4};
            try {
                state.begin_epoch(transport.rank() == 1 ? plan_of_rank_1 : fine);
            } catch (const mismatch& e) {
                if (transport.rank() == 0) text = e.what();
            }
            transport.agree(true);
        });
        return text;
    };
    CHECK(refused({.examples = 10, .batch_size = 0}) ==
          "rank 1 begins an epoch of 10 examples in batches of 0 from round 0 on; this rank's "
          "batches are of 4, from round 0");
    CHECK(refused({.examples = -1, .batch_size = 4}) != "");
    CHECK(refused({.examples = 10, .batch_size = 4, .first_round = 1}) != "");
    CHECK(refused({.examples = std::numeric_limits<std::int64_t>::max(), .batch_size = 4}) == "");
}

TEST_CASE("visit shows the memory of compressor and optimizer, and what ranks hold alike") {
    run_in_process(1, [](in_process& transport) {
        const layout tensors = testing::small_layout();
        std::vector<std::string> names;
        const auto list = [&](const std::string& name, const auto&, kept how = kept::alike) {
            names.push_back(name + (how == kept::apart ? " apart" : ""));
        };
        const auto shown = [&](const auto& strategy) {
            names.clear();
            strategy.bind(tensors, transport).visit(list);
            return names;
        };
        CHECK(shown(all_reduce{momentum_sgd{}, sparsified{top_k{}, residual{}}}) ==
              std::vector<std::string>{"residual/first.weight apart", "residual/nothing apart",
                                       "residual/second.weight apart", "momentum/first.weight",
                                       "momentum/first.bias", "momentum/nothing",
                                       "momentum/second.weight"});
        CHECK(shown(all_reduce{sgd{}, none{}}).empty());
        CHECK(shown(all_reduce{sgd{.weight_decay = 0.1}, dgc{}}) ==
              std::vector<std::string>{"velocity/first.weight apart", "residual/first.weight apart",
                                       "momentum/first.bias", "velocity/nothing apart",
                                       "residual/nothing apart", "velocity/second.weight apart",
                                       "residual/second.weight apart", "decay/first.weight",
                                       "decay/first.bias", "decay/nothing", "decay/second.weight"});
    });
}

TEST_CASE("training resumed from what visit shows and the parameters goes on bit for bit") {
    const all_reduce strategy{sgd{.learning_rate = 0.1, .weight_decay = 0.01},
                              dgc{.density = 0.1, .warm_up_epochs = 0}};
    std::vector<std::vector<float>> expected(2), resumed(2);
    run_in_process(2, [&](in_process& transport) {
        const auto rank = static_cast<std::size_t>(transport.rank());
        number_model model;
        model.pull = 0.3f;
        const std::vector<std::int64_t> batch{transport.rank(), 5, 9};
        const auto rounds = [&](auto& state, std::vector<float>& parameters, std::int64_t from,
                                std::int64_t to) {
            for (std::int64_t step = from; step < to; ++step) {
                state.begin_epoch({.examples = 3, .batch_size = 3});
                detail::round_input<number_model> job{model, batch, 3, step, 0.0};
                state.round(job, parameters);
            }
        };
        expected[rank].assign(static_cast<std::size_t>(model.layout().size()), 1.0f);
        auto first = strategy.bind(model.layout(), transport);
        rounds(first, expected[rank], 0, 6);
        const testing::snapshot saved(first);
        resumed[rank] = expected[rank];
        rounds(first, expected[rank], 6, 12);

        auto second = strategy.bind(model.layout(), transport);
        saved.put_into(second);
        rounds(second, resumed[rank], 6, 12);
    });
    CHECK(resumed == expected);
}

TEST_CASE("a round that failed is as if it had never been, also for one without data after it") {
    const all_reduce strategy{sgd{.learning_rate = 0.1}, dgc{.density = 0.1, .warm_up_epochs = 0}};
    run_in_process(1, [&](in_process& transport) {
        number_model model;
        const std::vector<std::int64_t> batch{1, 2};
        std::vector<float> parameters(static_cast<std::size_t>(model.layout().size()));
        auto state = strategy.bind(model.layout(), transport);
        auto twin = strategy.bind(model.layout(), transport);
        auto expected = parameters;
        state.begin_epoch({.examples = 2, .batch_size = 2});
        twin.begin_epoch({.examples = 2, .batch_size = 2});
        for (std::int64_t step = 0; step < 8; ++step) {
            const std::int64_t examples = step % 2 == 0 ? 2 : 0;
            for (int failing_after = 0; failing_after < 4; ++failing_after) {
                model.on_progress = [&](int announced) {
                    if (announced == failing_after) throw std::runtime_error("planned");
                };
                detail::round_input<number_model> failing{model, batch, 2, step, 0.0};
                CHECK_THROWS_AS(state.round(failing, parameters), std::runtime_error);
            }
            model.on_progress = {};
            detail::round_input<number_model> job{model, batch, examples, step, 0.0};
            state.round(job, parameters);
            twin.round(job, expected);
            CHECK(parameters == expected);
            CHECK(testing::snapshot(state) == testing::snapshot(twin));
        }
    });
}

TEST_CASE("sums that were taken before a message could not be read are forgotten") {
    bool fails = false;
    deaf compressor;
    compressor.fails = &fails;
    run_in_process(1, [&](in_process& transport) {
        number_model model;
        const std::vector<std::int64_t> batch{1, 2};
        std::vector<float> parameters(static_cast<std::size_t>(model.layout().size()));
        auto expected = parameters;
        auto state = all_reduce{sgd{}, compressor}.bind(model.layout(), transport);
        auto twin = all_reduce{sgd{}}.bind(model.layout(), transport);
        detail::round_input<number_model> job{model, batch, 2, 0, 0.0};
        for (int attempt = 0; attempt < 3; ++attempt) {
            fails = true;
            CHECK_THROWS_AS(state.round(job, parameters), std::runtime_error);
            CHECK(parameters == expected);
            fails = false;
            state.round(job, parameters);
            twin.round(job, expected);
            CHECK(parameters == expected);
        }
    });
}

TEST_CASE("a round reports what it sent, apart for every tensor") {
    run_in_process(2, [](in_process& inner) {
        metered transport(inner);
        number_model model;
        std::vector<float> parameters(static_cast<std::size_t>(model.layout().size()));
        auto state = all_reduce{sgd{}, dgc{.density = 0.01, .warm_up_epochs = 0}}.bind(
            model.layout(), transport);
        state.begin_epoch({.examples = 4, .batch_size = 4});
        const std::vector<std::int64_t> batch{1, 2, 3, 4};
        detail::round_input<number_model> job{model, batch, 4, 0, 0.0};
        const traffic before = transport.counters();
        const round_report report = state.round(job, parameters);
        CHECK(report.examples == 4);
        CHECK(report.loss == 2.5);
        CHECK(report.dense_bytes == 4 * model.layout().size());
        REQUIRE(report.tensor_message_bytes.size() == 4);
        CHECK(report.tensor_message_bytes[1] == 48);  // the bias, as floats
        CHECK(report.tensor_message_bytes[2] == 0);   // nothing
        CHECK(report.tensor_message_bytes[3] > 7 * 4);
        CHECK(report.tensor_message_bytes[3] < 7 * 4 + 24);
        std::int64_t sum = 0;
        for (const std::int64_t size : report.tensor_message_bytes) sum += size;
        CHECK(report.message_bytes == sum);
        CHECK(report.bytes_sent == transport.counters().bytes_sent - before.bytes_sent);
        CHECK(report.bytes_sent >= sum - 48);
    });
}

TEST_CASE("every option is part of what ranks compare") {
    const std::string text =
        detail::description{}
            .add("strategy", all_reduce{sgd{.learning_rate = 0.5}, dgc{.density = 0.25},
                                        collectives::all_gather{}})
            .text();
    for (const char* line :
         {"strategy.optimizer.learning_rate = 0.5", "strategy.optimizer.decay_momentum = -1",
          "strategy.compressor.selector.density = 0.25", "strategy.compressor.memory.mask = true",
          "strategy.compressor.schedule.epochs = 4", "strategy.compressor.clipping.scope = ",
          "strategy.compressor.message.dense_vectors = true",
          "strategy.collective.way = ", "strategy.bucket_bytes = 16384"})
        CHECK(text.find(line) != std::string::npos);
}

TEST_CASE("a negative size of groups is refused") {
    run_in_process(1, [](in_process& transport) {
        all_reduce strategy;
        strategy.bucket_bytes = -1;
        CHECK_THROWS_WITH_AS(strategy.bind(testing::small_layout(), transport),
                             "all_reduce: bucket_bytes is -1; it must be at least 0",
                             invalid_option);
    });
}
