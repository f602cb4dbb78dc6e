#include "sotto/strategies/detail/parameter_server/pushed_entries.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sotto/compressors/top_k.hpp"
#include "sotto/wire/sparse_block.hpp"

using namespace sotto;

namespace {

const layout tensors = layout().add("a", {400}).add("b", {600});

bytes message(const tensor& t, float last) {
    std::vector<std::uint32_t> indices;
    for (std::uint32_t i = 3; i < t.size; i += 2 + i % 5) indices.push_back(i);
    std::vector<float> values(indices.size(), 0.5f);
    values.back() = last;
    bytes out;
    wire::encode_sparse(t.size, std::span<const std::uint32_t>(indices), values,
                        wire::value_format::fp32, out);
    return out;
}

// What is read, or the sentence of the error.
std::string read_by(bool pairs, const bytes& first, const bytes& second, double density = 1.0) {
    auto decoder = top_k{.density = density}.bind(tensors);
    detail::pushed_entries read;
    read.reserve(1000, 2);
    read.begin();
    try {
        if (pairs) {
            read.read_pair(decoder, tensors[0], first, tensors[1], second, 7);
        } else {
            read.read(decoder, tensors[0], first, 7);
            read.read(decoder, tensors[1], second, 7);
        }
    } catch (const error& e) {
        return e.what();
    }
    std::string all;
    for (const std::size_t k : {0u, 1u}) {
        for (const std::uint32_t i : read.indices(k)) all += std::to_string(i) + " ";
        for (const float v : read.values(k)) all += std::to_string(v) + " ";
        all += "; ";
    }
    return all;
}

}  // namespace

TEST_CASE("two tensors read at once are what they are one after the other, and so are errors") {
    const float no_number = std::numeric_limits<float>::quiet_NaN();
    const auto cut = [](bytes whole) {
        whole.resize(whole.size() / 2);
        return whole;
    };
    const bytes a = message(tensors[0], 1.0f), b = message(tensors[1], 2.0f);
    const bytes a_nan = message(tensors[0], no_number), b_nan = message(tensors[1], no_number);
    std::vector<std::string> answers;
    for (const auto& [first, second] : {std::pair{a, b},
                                        {a_nan, b},
                                        {a, b_nan},
                                        {a_nan, b_nan},
                                        {cut(a), b},
                                        {a, cut(b)},
                                        {a_nan, cut(b)},
                                        {cut(a), b_nan}}) {
        answers.push_back(read_by(false, first, second));
        CHECK(read_by(true, first, second) == answers.back());
    }
    CHECK(answers[1] == answers[6]);  // of two errors the first tensor's
    CHECK(answers[1] != answers[2]);
    CHECK(answers[4] != answers[5]);
}

TEST_CASE("of two tensors read at once neither has more entries than it may, though both fit") {
    const bytes a = message(tensors[0], 1.0f), b = message(tensors[1], 2.0f);  // a fourth of each
    for (const double density : {0.1, 0.2, 0.24})
        CHECK(read_by(true, a, b, density) == read_by(false, a, b, density));
    CHECK(read_by(true, a, b, 0.1).find("a") != std::string::npos);
}
