#include "sotto/compressors/none.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sotto/core/describe.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/result.hpp"
#include "sotto/kernels/detail/simd/reductions.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "support/generators.hpp"
#include "support/numbers.hpp"

using namespace sotto;

namespace {

template <class C>
std::vector<float> received(const std::vector<float>& gradient) {
    layout tensors;
    tensors.add("w", {static_cast<std::int64_t>(gradient.size()), 1});
    auto state = C{}.bind(tensors);
    bytes message;
    state.encode(tensors[0], gradient, message);
    CHECK(static_cast<std::int64_t>(message.size()) == state.message_bytes_max(tensors[0]));
    std::vector<float> sum(gradient.size());
    state.decode_add(tensors[0], message, sum);
    return sum;
}

}  // namespace

TEST_CASE("floats arrive as they are, halves as their format rounds them") {
    const auto values = testing::normal_values(1000, 3);
    CHECK(received<none>(values) == values);
    std::vector<float> rounded;
    for (const float x : values) rounded.push_back(wire::rounded(wire::value_format::fp16, x));
    CHECK(received<fp16>(values) == rounded);
    rounded.clear();
    for (const float x : values) rounded.push_back(wire::rounded(wire::value_format::bf16, x));
    CHECK(received<bf16>(values) == rounded);
    CHECK(received<none>({}).empty());
}

TEST_CASE("a message is a byte and the values: 4 or 2 bytes each") {
    layout tensors;
    tensors.add("w", {10, 10});
    CHECK(none{}.bind(tensors).message_bytes_max(tensors[0]) == 401);
    CHECK(fp16{}.bind(tensors).message_bytes_max(tensors[0]) == 201);
    CHECK(bf16{}.bind(tensors).message_bytes_max(tensors[0]) == 201);
}

TEST_CASE("summed payloads are the gradient itself, and collectives are told the format") {
    static_assert(detail::summable<none> && detail::summable<fp16> && detail::summable<bf16>);
    static_assert(!detail::sparse<none> && !detail::holds_momentum<none>);
    const layout tensors = testing::small_layout();
    auto state = fp16{}.bind(tensors);
    CHECK(state.payload_format(tensors[0]) == wire::value_format::fp16);
    CHECK(none{}.bind(tensors).payload_format(tensors[0]) == wire::value_format::fp32);
    for (const tensor& t : tensors) {
        CHECK(state.sums(t));
        CHECK(state.payload_size(t) == t.size);
        const auto gradient = testing::normal_values(t.size, 1);
        std::vector<float> payload(gradient.size()), sum(gradient.size());
        state.pack(t, gradient, payload);
        CHECK(payload == gradient);
        state.unpack(t, payload, sum);
        CHECK(sum == gradient);
    }
}

TEST_CASE("a refused message is named after its tensor") {
    layout tensors;
    tensors.add("hidden.weight", {4, 4});
    auto state = none{}.bind(tensors);
    std::vector<float> sum(16);
    CHECK_THROWS_WITH_AS(state.decode_add(tensors[0], bytes(3), sum),
                         doctest::Contains("the message for tensor 'hidden.weight'"), malformed);
}

TEST_CASE("the format is part of what ranks compare") {
    CHECK(detail::description{}.add("compressor", fp16{}).text() !=
          detail::description{}.add("compressor", bf16{}).text());
    CHECK(detail::description{}.add("compressor", fp16{}).text().find("compressor.format = fp16") !=
          std::string::npos);
}

TEST_CASE("fp16: a value beyond its range -> an error names it and 65504") {
    layout tensors;
    tensors.add("w", {2, 3});
    const std::vector<float> far{1.0f, -2.0f, 3.0f, 65504.0f, -1e5f, 6e4f};
    const char* const expected =
        "tensor 'w', element 4 is -100000.000000; values travel in fp16, which holds at most "
        "65504: use bf16{} or none{}, or scale the loss down";
    for (const bool is_measured : {false, true}) {
        auto state = fp16{}.bind(tensors);
        if (is_measured) state.measured(tensors[0], detail::kernels::sum_of_squares(far));
        bytes message;
        CHECK_THROWS_WITH_AS(state.encode(tensors[0], far, message), expected, error);
        CHECK(message.empty());
        std::vector<float> payload(6);
        CHECK_THROWS_WITH_AS(state.pack(tensors[0], far, payload), expected, error);
    }
    auto near = far;
    near[4] = 65519.0f;
    CHECK(received<fp16>(near)[4] == 65504.0f);
    CHECK(received<bf16>(far)[4] == doctest::Approx(-1e5).epsilon(0.01));
    // A measure is of one round alone.
    auto state = fp16{}.bind(tensors);
    bytes message;
    state.measured(tensors[0], 1.0);
    state.encode(tensors[0], std::vector<float>(6), message);
    CHECK_THROWS_AS(state.encode(tensors[0], far, message), error);
}

TEST_CASE("fp16: a sum of ranks beyond its range -> an error names 65504") {
    for (const float size : {120'000.0f, 1e6f}) {
        const auto thrown = [&](const auto& compressor) -> std::string {
            try {
                run_in_process(2, [&](in_process& transport) {
                    testing::number_model model(testing::small_layout());
                    model.spoil = [&](std::span<float> g) { g[7] = size; };
                    auto state = all_reduce{sgd{}, compressor}.bind(model.layout(), transport);
                    std::vector<float> parameters(static_cast<std::size_t>(model.layout().size()));
                    state.begin_epoch({.examples = 1, .batch_size = 1});
                    detail::round_input<testing::number_model> job{model, {0}, 1, 0, 0.0};
                    state.round(job, parameters);
                });
            } catch (const error& e) {
                CHECK(e.code() == errc::non_finite);
                return e.what();
            }
            return "";
        };
        const std::string text = thrown(fp16{});
        CHECK(text.find("'first.weight', element 7") != std::string::npos);
        CHECK(text.find("fp16, which holds at most 65504") != std::string::npos);
        CHECK((text.find("the sum over all ranks") != std::string::npos) == (size < 1e6f));
        CHECK(thrown(bf16{}).empty());
        CHECK(thrown(none{}).empty());
    }
}
