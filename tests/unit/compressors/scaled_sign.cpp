#include "sotto/compressors/scaled_sign.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/core/result.hpp"
#include "support/generators.hpp"

using namespace sotto;

namespace {

using floats = std::vector<float>;

layout of_size(std::int64_t n) {
    layout tensors;
    tensors.add("w", {n, 1});
    return tensors;
}

floats sent(const floats& g) {
    const layout tensors = of_size(static_cast<std::int64_t>(g.size()));
    auto state = scaled_sign{}.bind(tensors);
    bytes message;
    state.encode(tensors[0], g, message);
    CHECK(static_cast<std::int64_t>(message.size()) == state.message_bytes_max(tensors[0]));
    floats sum(g.size());
    state.decode_add(tensors[0], message, sum);
    return sum;
}

double squares(const floats& x) {
    double sum = 0.0;
    for (const float v : x) sum += double{v} * v;
    return sum;
}

}  // namespace

TEST_CASE("every value is the mean magnitude with its sign") {
    const floats g{3.0f, -1.0f, 0.0f, -0.0f, 4.0f, -4.0f, 0.0f, 0.0f};
    CHECK(sent(g) == floats{1.5f, -1.5f, 1.5f, -1.5f, 1.5f, -1.5f, 1.5f, 1.5f});
    CHECK(sent(floats(100, -0.5f)) == floats(100, -0.5f));  // says all there is
    CHECK(sent(floats(9)) == floats(9));
}

TEST_CASE("what is left is shorter by exactly the share that the paper gives") {
    for (const std::int64_t n : {1, 10, 1000, 4099})
        for (const int kind : {0, 1, 2}) {
            floats g = kind == 0 ? testing::normal_values(n, 3) : testing::uniform_values(n, 4);
            if (kind == 2)
                for (std::size_t i = 0; i < g.size(); ++i) g[i] *= i % 50 == 0 ? 100.0f : 1e-3f;
            double sum = 0.0;
            for (const float x : g) sum += std::abs(double{x});
            const double contraction = sum * sum / (static_cast<double>(n) * squares(g));
            floats rest = sent(g);
            for (std::size_t i = 0; i < g.size(); ++i) rest[i] -= g[i];
            CHECK(contraction > 0.0);
            CHECK(squares(rest) == doctest::Approx((1.0 - contraction) * squares(g)).epsilon(1e-5));
            CHECK(squares(rest) <= (1.0 - contraction + 1e-6) * squares(g));
        }
}

TEST_CASE("a tensor takes an eighth of a byte a value and four bytes, a vector what it has") {
    const layout tensors = testing::small_layout();
    const auto state = scaled_sign{}.bind(tensors);
    CHECK(state.message_bytes_max(tensors[0]) == 4 + 38);
    CHECK(state.message_bytes_max(tensors[1]) == 1 + 48);
    CHECK(scaled_sign{.dense_vectors = false}.bind(tensors).message_bytes_max(tensors[1]) == 4 + 2);
    CHECK(state.message_bytes_max(tensors[2]) == 4);
}

TEST_CASE("what decode_add adds decode_subtract takes away") {
    const layout tensors = testing::small_layout();
    for (const bool dense : {true, false}) {
        auto state = scaled_sign{dense}.bind(tensors);
        for (const tensor& t : tensors) {
            bytes message;
            state.encode(t, testing::integer_values(t.size, 8), message);
            floats sum(static_cast<std::size_t>(t.size), 0.0f);
            state.decode_add(t, message, sum);
            state.decode_subtract(t, message, sum);
            CHECK(sum == floats(sum.size()));
            message.push_back(std::byte{0});
            CHECK_THROWS_AS(state.decode_subtract(t, message, sum), malformed);
            CHECK(sum == floats(sum.size()));
        }
    }
}

TEST_CASE("a gradient that is not finite is refused, and the element named") {
    floats g(40, 1.0f);
    g[17] = std::numeric_limits<float>::infinity();
    CHECK_THROWS_WITH_AS(
        sent(g), "scaled_sign: what is to be sent of tensor 'w' is not finite: element 17", error);
    g[17] = std::numeric_limits<float>::quiet_NaN();
    CHECK_THROWS_AS(sent(g), error);
}
