#include "sotto/compressors/chunked_top_k.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "sotto/compressors/error_feedback.hpp"
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

bytes message_of_all(const chunked_top_k& options, const floats& g) {
    const layout tensors = of_size(static_cast<std::int64_t>(g.size()));
    auto state = options.bind(tensors);
    bytes message;
    state.encode(tensors[0], g, message);
    CHECK(static_cast<std::int64_t>(message.size()) <= state.message_bytes_max(tensors[0]));
    return message;
}

floats sent(const chunked_top_k& options, const floats& g) {
    const layout tensors = of_size(static_cast<std::int64_t>(g.size()));
    floats sum(g.size());
    options.bind_decoder(tensors).decode_add(tensors[0], message_of_all(options, g), sum);
    return sum;
}

double squares(const floats& x) {
    double sum = 0.0;
    for (const float v : x) sum += double{v} * v;
    return sum;
}

}  // namespace

TEST_CASE("of every chunk the largest go, of a last and smaller one its share") {
    const chunked_top_k options{.chunk = 8, .kept = 2};
    floats g(21, 0.25f);
    g[1] = -3.0f, g[6] = 3.0f;                // the first chunk's
    g[8] = 3.0f, g[9] = -3.0f, g[15] = 2.0f;  // the second's: one too many
    g[16] = 1.0f, g[20] = -3.0f;              // two of the last five
    floats expected(21);
    expected[1] = expected[9] = expected[20] = -3.0f;
    expected[6] = expected[8] = 3.0f;
    expected[16] = 1.0f;
    CHECK(options.entries_of(21) == 2 + 2 + 2);
    const floats found = sent(options, g);
    for (std::size_t i = 0; i < g.size(); ++i) CHECK((found[i] != 0.0f) == (expected[i] != 0.0f));
    CHECK(found[1] == -3.0f);
    // 3, 3 and 1 share a bin: their mean is the mean of all positive ones.
    CHECK(found[6] == static_cast<float>(7.0 / 3.0));
}

TEST_CASE("the places sent are those that sorting finds in each chunk, and as many") {
    constexpr std::int64_t n = 3 * 4096 + 1000;
    const floats g = testing::normal_values(n, 3), found = sent({}, g);
    std::int64_t count = 0;
    for (std::size_t first = 0; first < g.size(); first += 4096) {
        const std::size_t size = std::min<std::size_t>(4096, g.size() - first);
        std::vector<float> magnitudes;
        for (std::size_t i = 0; i < size; ++i) magnitudes.push_back(std::abs(g[first + i]));
        std::sort(magnitudes.rbegin(), magnitudes.rend());
        const std::size_t k = size == 4096 ? 64 : 16;  // 1000 / 64 = 15.6
        for (std::size_t i = 0; i < size; ++i)
            CHECK((found[first + i] != 0.0f) == (std::abs(g[first + i]) >= magnitudes[k - 1]));
        count += static_cast<std::int64_t>(k);
    }
    CHECK(count == chunked_top_k{}.entries_of(n));
}

TEST_CASE("what is left is shorter by what was sent, and is never longer than what there was") {
    for (const std::int64_t n : {1, 10, 4096, 9000})
        for (const int kind : {0, 1, 2}) {
            floats g = kind == 0 ? testing::normal_values(n, 3) : testing::uniform_values(n, 4);
            if (kind == 2)
                for (std::size_t i = 0; i < g.size(); ++i) g[i] *= i % 50 == 0 ? 100.0f : 1e-3f;
            const floats found = sent({}, g);
            floats rest = g;
            for (std::size_t i = 0; i < g.size(); ++i) rest[i] -= found[i];
            CHECK(squares(found) > 0.0);
            CHECK(squares(rest) == doctest::Approx(squares(g) - squares(found)).epsilon(1e-5));
            CHECK(squares(rest) < squares(g));
        }
}

TEST_CASE("a matrix takes less than a sixth of a bit an element") {
    const std::int64_t n = 1 << 20;
    const bytes message = message_of_all({}, testing::normal_values(n, 9));
    CHECK(8.0 * static_cast<double>(message.size()) / static_cast<double>(n) < 0.152);
    CHECK(message_of_all({}, floats(100'000)).size() == 1);  // there is nothing to say
}

TEST_CASE("zeros are not sent where a chunk has fewer entries than may go") {
    floats g(100);
    g[7] = 1.0f, g[50] = -2.0f;
    CHECK(sent({.chunk = 50, .kept = 10}, g) == g);
}

TEST_CASE("what decode_add adds decode_subtract takes away") {
    const layout tensors = testing::small_layout();
    for (const bool dense : {true, false}) {
        auto state = chunked_top_k{.chunk = 64, .kept = 8, .dense_vectors = dense}.bind(tensors);
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

TEST_CASE("memory of what was not sent decays, and what was sent leaves it: SparseLoCo's rule") {
    const layout tensors = of_size(300);
    const chunked_top_k inner{.chunk = 64, .kept = 4};
    auto state = error_feedback{inner, 0.95}.bind(tensors);
    floats e(300);
    for (std::uint64_t round = 0; round < 50; ++round) {
        const floats delta = testing::normal_values(300, round);
        for (std::size_t i = 0; i < e.size(); ++i) e[i] = delta[i] + 0.95f * e[i];
        const floats q = sent(inner, e);
        bytes message;
        state.encode(tensors[0], delta, message);
        CHECK(message == message_of_all(inner, e));
        state.commit();
        for (std::size_t i = 0; i < e.size(); ++i) {
            e[i] -= q[i];
            CHECK(state.unsent(tensors[0])[i] == e[i]);
        }
    }
}

TEST_CASE("a gradient that is not finite is refused, and the element named") {
    floats g(5000, 1.0f);
    g[4500] = -std::numeric_limits<float>::infinity();
    CHECK_THROWS_WITH_AS(
        sent({}, g), "chunked_top_k: what is to be sent of tensor 'w' is not finite: element 4500",
        error);
    g[4500] = std::numeric_limits<float>::quiet_NaN();
    CHECK_THROWS_AS(sent({}, g), error);
}

TEST_CASE("options that cannot be are refused by name") {
    const layout tensors = of_size(10);
    CHECK_THROWS_WITH_AS(chunked_top_k{.chunk = 0}.bind(tensors),
                         "chunked_top_k: chunk is 0; it must be at least 1 and at most 4294967296",
                         invalid_option);
    CHECK_THROWS_WITH_AS(
        chunked_top_k{.kept = 0}.bind(tensors),
        "chunked_top_k: kept is 0; it must be at least 1 and at most 4096, the size of a chunk",
        invalid_option);
    CHECK_THROWS_AS((chunked_top_k{.chunk = 8, .kept = 9}.bind(tensors)), invalid_option);
    CHECK_THROWS_AS(
        (chunked_top_k{.chunk = std::int64_t{1} << 32, .kept = std::int64_t{1} << 31}.bind(
            tensors)),
        invalid_option);
    for (const double decay : {-0.1, 1.1, std::nan("")})
        CHECK_THROWS_AS((error_feedback{chunked_top_k{}, decay}.bind(tensors)), invalid_option);
    CHECK_THROWS_WITH((error_feedback{chunked_top_k{}, 2.0}.bind(tensors)),
                      "error_feedback: decay is 2; it must be at least 0 and at most 1");
}
