#include "sotto/compressors/scaled_down.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <tuple>
#include <vector>

#include "sotto/compressors/detail/contractive.hpp"
#include "sotto/compressors/qsgd.hpp"
#include "sotto/compressors/terngrad.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/core/random.hpp"
#include "sotto/kernels/detail/simd/reductions.hpp"

using namespace sotto;

namespace {

layout one_matrix(std::int64_t size) {
    layout tensors;
    tensors.add("w", {size / 2, 2});
    tensors.add("b", {4}, tensor_kind::bias);
    return tensors;
}

/// The means over many messages of q, and of ||q - g||^2 / ||g||^2.
struct means {
    std::vector<double> q;
    double error = 0.0;
};
template <class Compressor>
means of_many(const Compressor& compressor, const std::vector<float>& gradient, int messages) {
    const layout tensors = one_matrix(static_cast<std::int64_t>(gradient.size()));
    auto state = compressor.bind(tensors);
    means found{.q = std::vector<double>(gradient.size())};
    for (int step = 0; step < messages; ++step) {
        detail::compressing::begin_round(state, {.step = step});
        bytes message;
        state.encode(tensors[0], gradient, message);
        std::vector<float> q(gradient.size());
        state.decode_add(tensors[0], message, q);
        found.error += detail::kernels::squared_distance(q, gradient) /
                       (detail::kernels::sum_of_squares(gradient) * messages);
        for (std::size_t i = 0; i < q.size(); ++i) found.q[i] += double{q[i]} / messages;
    }
    return found;
}

std::vector<float> normal(std::size_t size) {
    random_stream random(4);
    std::vector<float> values(size);
    for (float& value : values) value = random.normal();
    return values;
}

}  // namespace

TEST_CASE("what is never further off than nothing on average is made of what may be") {
    const auto gradient = normal(4096);
    const tensor t = one_matrix(4096)[0];
    constexpr double all = std::numeric_limits<double>::infinity();
    const auto check = [&](const auto& compressor) {
        const scaled_down less{compressor};
        static_assert(detail::contractive<std::remove_cvref_t<decltype(less)>>);
        const double omega = compressor.variance(t), share = 1.0 / (1.0 + omega);
        CHECK(of_many(compressor, gradient, 50).error <= omega);
        const means found = of_many(less, gradient, 400);
        CHECK(found.error <= 1.0 - share);
        double along = 0.0;
        for (std::size_t i = 0; i < gradient.size(); ++i) along += found.q[i] * gradient[i];
        CHECK(along / detail::kernels::sum_of_squares(gradient) ==
              doctest::Approx(share).epsilon(0.05));
    };
    check(qsgd{});
    check(qsgd{.bits = 2});  // further off than nothing
    check(qsgd{.bits = 2, .norm = qsgd::maximum});
    check(qsgd{.bits = 8});
    check(terngrad{.clip = all});
    CHECK(of_many(qsgd{.bits = 2}, gradient, 50).error > 1.0);
    CHECK(of_many(terngrad{.clip = all}, gradient, 50).error > 1.0);
    const means clipped = of_many(scaled_down{terngrad{}}, gradient, 100);
    CHECK(clipped.error < 1.0);
}

TEST_CASE("variances are those of a bucket, of what is sent as it is none") {
    const layout tensors = one_matrix(600);
    CHECK(qsgd{.bits = 4}.variance(tensors[0]) == doctest::Approx(std::sqrt(512.0) / 7));
    CHECK(qsgd{.bits = 8}.variance(tensors[0]) == doctest::Approx(512.0 / (127.0 * 127.0)));
    CHECK(qsgd{}.variance(one_matrix(64)[0]) == doctest::Approx(std::sqrt(64.0) / 7));
    CHECK(qsgd{}.variance(tensors[1]) == 0.0);
    CHECK(qsgd{.dense_vectors = false}.variance(tensors[1]) == doctest::Approx(4.0 / 49));
    CHECK(terngrad{}.variance(tensors[0]) == doctest::Approx(std::sqrt(600.0) - 1.0));
    CHECK(terngrad{}.variance(tensors[1]) == 0.0);
}

namespace {

/// What it is told of the gradients that it is to encode.
struct told_compressor {
    std::vector<double>* squares = nullptr;

    static constexpr bool unbiased = true;
    double variance(const tensor&) const { return 3.0; }
    struct state {
        std::vector<double>* squares;
        std::vector<float> encoded{};
        void measured(const tensor&, double found) { squares->push_back(found); }
        void encode(const tensor&, std::span<const float> gradient, bytes&) {
            encoded.assign(gradient.begin(), gradient.end());
            squares->push_back(detail::kernels::sum_of_squares(encoded));
        }
        void decode_add(const tensor&, byte_view, std::span<float>) {}
    };
    state bind(const layout&) const { return {squares}; }
};

}  // namespace

TEST_CASE("scaled_down: the compressor inside is told squares -> of what it then encodes") {
    const layout tensors = one_matrix(40);
    std::vector<double> squares;
    auto state = scaled_down{told_compressor{&squares}}.bind(tensors);
    CHECK(state.share(tensors[0]) == 0.25f);
    const std::vector<float> gradient = normal(40);
    bytes message;
    state.measured(tensors[0], detail::kernels::sum_of_squares(gradient));
    state.encode(tensors[0], gradient, message);
    REQUIRE(squares.size() == 2);
    CHECK(squares[0] == doctest::Approx(squares[1]));
    CHECK(squares[1] == doctest::Approx(detail::kernels::sum_of_squares(gradient) / 16));
}
