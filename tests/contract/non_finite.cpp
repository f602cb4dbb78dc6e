// What is not finite is found wherever it may come from, also in a unit that is compiled with
// -ffast-math, where compilers take std::isfinite for true: this file is compiled both ways.

#include <doctest/doctest.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include <nlohmann/json.hpp>

#include "sotto/compressors/chunked_top_k.hpp"
#include "sotto/compressors/dgc.hpp"
#include "sotto/compressors/ef21.hpp"
#include "sotto/compressors/error_feedback.hpp"
#include "sotto/compressors/none.hpp"
#include "sotto/compressors/power_sgd.hpp"
#include "sotto/compressors/qsgd.hpp"
#include "sotto/compressors/sampled_top_k.hpp"
#include "sotto/compressors/scaled_down.hpp"
#include "sotto/compressors/scaled_sign.hpp"
#include "sotto/compressors/terngrad.hpp"
#include "sotto/compressors/threshold.hpp"
#include "sotto/compressors/top_k.hpp"
#include "sotto/strategies/gossip/control/consensus_controller.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/kernels/detail/simd/reductions.hpp"
#include "sotto/kernels/detail/quantise/ternary.hpp"
#include "sotto/models/churn.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/topologies/mixing_matrix.hpp"
#include "sotto/trainer/early_stop.hpp"
#include "sotto/logging/detail/json_text.hpp"
#include "sotto/logging/detail/report_text.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "sotto/wire/detail/protocols/gossip_word.hpp"
#include "sotto/wire/detail/protocols/push.hpp"
#include "sotto/wire/value_format.hpp"
#include "support/generators.hpp"
#include "support/numbers.hpp"
#include "support/sensible.hpp"
#include "support/wrong_options.hpp"

using namespace sotto;

namespace {

const double not_a_number = testing::from_bits(0x7ff8000000000000);
const double infinity = testing::from_bits(0x7ff0000000000000);

/// Not through arithmetic, which may take no NaN for granted.
std::vector<float> bad_floats() {
    const auto made = [](std::uint32_t bits) {
        asm volatile("" : "+r"(bits));
        return std::bit_cast<float>(bits);
    };
    return {made(0x7fc00000), made(0xffc00000), made(0x7f800000), made(0xff800000)};
}

consensus_reading reading_of(double distance) {
    consensus_reading now;
    now.distance = distance;
    now.rounds = 1;
    now.second_singular_value = 0.5;
    return now;
}

}  // namespace

TEST_CASE("fit: a gradient that is not finite -> names rank, tensor and element") {
    for (const float bad : bad_floats()) {
        std::string refusal;
        run_in_process(2, {}, [&](in_process& transport) {
            testing::number_model model;
            model.spoil = [&](std::span<float> gradient) {
                if (transport.rank() == 1) gradient[317] = bad;
            };
            trainer trainer{model, all_reduce{sgd{}}, transport, {.batch_size = 4}};
            try {
                trainer.fit(testing::numbered{8}, epochs{1});
            } catch (const non_finite& e) {
                refusal = e.what();
            } catch (const peer_failure&) {}
        });
        CHECK(refusal.starts_with(
            "the gradient of rank 1 is not finite: tensor 'second.weight', element 5"));
    }
}

TEST_CASE("fit: values that become infinite as halves -> an error with its code") {
    std::vector<std::error_code> codes(2);
    try {
        run_in_process(2, {}, [&](in_process& transport) {
            testing::number_model model;
            model.spoil = [](std::span<float> gradient) { gradient[317] = 1e6f; };
            trainer trainer{model, all_reduce{sgd{}, fp16{}}, transport, {.batch_size = 4}};
            try {
                trainer.fit(testing::numbered{8}, epochs{1});
            } catch (const error& e) {
                codes[static_cast<std::size_t>(transport.rank())] = e.code();
                throw;
            }
        });
        FAIL("it was taken");
    } catch (const error& e) {
        CHECK(e.code() == errc::non_finite);
    }
    for (const std::error_code& code : codes) CHECK(code);
}

TEST_CASE("kernels: values that are not finite -> found by place, sums not finite") {
    std::vector<float> values(1000, 1.0f);
    CHECK(detail::kernels::first_non_finite(values) == -1);
    CHECK(detail::kernels::is_finite(detail::kernels::sum_of_squares(values)));
    for (const float bad : bad_floats()) {
        values[777] = bad;
        CHECK(detail::kernels::first_non_finite(values) == 777);
        CHECK_FALSE(detail::kernels::is_finite(detail::kernels::sum_of_squares(values)));
        values[777] = 1.0f;
    }
    std::vector<float> scales(1);
    std::vector<std::uint8_t> codes(256);
    for (const float clip : {bad_floats()[0], bad_floats()[3], 0.0f, -1.0f})
        CHECK_THROWS_AS(detail::kernels::ternarise({.clip = clip}, values, scales, codes),
                        invalid_option);
}

TEST_CASE("first_beyond: values that are not finite -> a finite one behind them is found") {
    using wire::value_format;
    for (const float bad : bad_floats()) {
        std::vector<float> values{1.0f, bad, 65519.0f, bad, -65520.0f};
        CHECK(wire::first_beyond(value_format::fp16, values) == 4);
        CHECK(wire::first_beyond(value_format::bf16, values) == -1);
        CHECK(wire::first_beyond(value_format::fp32, values) == -1);
        values.back() = 1.0f;
        CHECK(wire::first_beyond(value_format::fp16, values) == -1);
    }
}

TEST_CASE_TEMPLATE("compressors: a gradient that is not finite -> refused, or shown by its sum", C,
                   none, fp16, top_k, sampled_top_k, threshold, dgc, scaled_sign, qsgd, terngrad,
                   scaled_down<qsgd>, error_feedback<scaled_sign>, ef21<top_k>, power_sgd,
                   chunked_top_k) {
    const layout tensors = testing::small_layout();
    const tensor& t = tensors.tensors().back();
    for (const float bad : bad_floats()) {
        const std::vector<float> gradient(static_cast<std::size_t>(t.size), bad);
        auto state = testing::sensible<C>::options().bind(tensors);
        detail::compressing::begin_round(state, {});
        bytes message;
        std::vector<float> sum(gradient.size());
        try {
            state.encode(t, gradient, message);
            state.decode_add(t, message, sum);
            CHECK(detail::kernels::first_non_finite(sum) >= 0);
        } catch (const error& e) {
            CHECK(e.code() == errc::non_finite);
        }
    }
}

TEST_CASE("words of peers: a number that is not finite -> refused") {
    for (const double bad : {not_a_number, infinity, -infinity, -1.0}) {
        detail::wire::gossip_word word;
        word.clock.epoch = bad;
        bytes in(detail::wire::gossip_word_bytes);
        detail::wire::write_gossip_word(word, in.data());
        CHECK_FALSE(detail::wire::read_gossip_word(in));
        bytes push(detail::wire::push_header_bytes);
        detail::wire::write_push_head({.epoch = bad}, {}, push.data());
        CHECK_FALSE(detail::wire::read_push_header(push));
    }
}

TEST_CASE("early_stop: losses that are not finite -> no improvement") {
    for (const double bad : {not_a_number, infinity}) {
        early_stop stop({.patience = 2});
        stop.on_begin({});
        epoch_report report;
        report.loss = 1.0;
        CHECK(stop.on_epoch(report) == fit_control::keep_going);
        report.loss = bad;
        CHECK(stop.on_epoch(report) == fit_control::keep_going);
        CHECK(stop.on_epoch(report) == fit_control::stop);
    }
}

TEST_CASE("controllers: a distance that is not known -> not near, and no miss") {
    detail::round_limit limit(8);
    CHECK(limit.wants_another(reading_of(not_a_number), 1.0));
    CHECK_FALSE(limit.misses());
    CHECK(detail::rounds_to_reach(not_a_number, 1.0, 0.5, 8) == 1);
    CHECK(detail::rounds_to_reach(2.0, 1.0, not_a_number, 8) == 8);
    CHECK(detail::rounds_to_reach(2.0, not_a_number, 0.5, 8) == 1);
    CHECK_FALSE(detail::controlling::is_above(not_a_number, 1.0));
    CHECK_FALSE(detail::controlling::is_above(1.0, not_a_number));
}

TEST_CASE("logs and reports: numbers that are not finite -> null and signs") {
    CHECK(detail::json_text(
              {{"loss", not_a_number}, {"each", {1.0, infinity, -infinity}}, {"x", "NaN"}}) ==
          R"({"loss":null,"each":[1.0,null,null],"x":"NaN"})");
    CHECK(sotto::detail::reporting::digits(infinity) == "∞");
    CHECK(sotto::detail::reporting::digits(-infinity) == "−∞");
    CHECK(sotto::detail::reporting::digits(not_a_number) == "–");
}

TEST_CASE("weights, probabilities, tokens: one that is not finite -> refused") {
    for (const double bad : {not_a_number, infinity}) {
        topologies::mixing_matrix matrix(2);
        CHECK_THROWS_AS(matrix.link(0, 1, bad), invalid_option);
    }
    const std::vector<float> fair{0.5f, 0.5f};
    for (const float bad : bad_floats()) {
        const std::vector<float> odd{bad, 0.5f};
        CHECK_THROWS_AS((void)churn_between(fair, odd, 2), invalid_option);
    }
}
