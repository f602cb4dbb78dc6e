#include "sotto/compressors/none.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sotto/core/describe.hpp"
#include "sotto/core/result.hpp"
#include "support/generators.hpp"

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
    static_assert(summable<none> && summable<fp16> && summable<bf16>);
    static_assert(!sparse<none> && !holds_momentum<none>);
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
    CHECK(description{}.add("compressor", fp16{}).text() !=
          description{}.add("compressor", bf16{}).text());
    CHECK(description{}.add("compressor", fp16{}).text().find("compressor.format = fp16") !=
          std::string::npos);
}
