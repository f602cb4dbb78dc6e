#include <doctest/doctest.h>

#include <cstdint>
#include <cstdio>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "sotto/wire/dense_block.hpp"
#include "sotto/wire/detail/coding/index_code.hpp"
#include "sotto/wire/sparse_block.hpp"

using namespace sotto;
using namespace sotto::wire;

namespace {

using index_list = std::vector<std::uint32_t>;

std::string hex(byte_view in) {
    std::string text;
    for (const std::byte byte : in) {
        char digits[3];
        std::snprintf(digits, sizeof digits, "%02x", std::to_integer<unsigned>(byte));
        text += digits;
    }
    return text;
}

std::string sparse_block(std::int64_t n, const index_list& indices, value_format format) {
    std::vector<float> values(indices.size());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) - 1.5f;
    bytes out;
    encode_sparse(n, indices, values, format, out);
    return hex(out);
}

std::string indices_of(std::int64_t n, const index_list& indices, detail::wire::index_mode mode) {
    bytes out;
    CHECK(detail::wire::encode_indices(n, indices, out).mode == mode);
    return hex(out);
}

}  // namespace

// Peers of another build, and files written years ago, depend on these: a change here is a change
// of the wire format.

TEST_CASE("golden: sparse blocks keep their bytes in every value format") {
    CHECK(sparse_block(1'000'000, {}, value_format::fp32) == "00");
    CHECK(sparse_block(1'000'000, {999'999}, value_format::fp32) == "04fc083d0000c0bf");
    CHECK(sparse_block(1'000'000, {7, 1000, 500'000}, value_format::fp32) ==
          "0c450f00041f80379d010000c0bf000000bf0000003f");
    CHECK(sparse_block(1'000'000, {7, 1000, 500'000}, value_format::fp16) ==
          "0d450f00041f80379d0100be00b80038");
    CHECK(sparse_block(1'000'000, {7, 1000, 500'000}, value_format::bf16) ==
          "0e450f00041f80379d01c0bf00bf003f");
    CHECK(sparse_block(3, {0, 1, 2}, value_format::fp16) == "0d00be00b80038");
    CHECK(sparse_block(std::int64_t{1} << 32, {0, 0xFFFFFFFF}, value_format::bf16) ==
          "0a7901000000f4ffffff01c0bf00bf");
}

TEST_CASE("golden: index codes keep their bytes in every mode") {
    index_list run(40);
    std::iota(run.begin(), run.end(), 17u);
    CHECK(indices_of(100, run, detail::wire::index_mode::run) ==
          "44");  // 17, above two bits of mode
    CHECK(indices_of(4'000'000, {3, 70'000, 70'001, 3'999'999}, detail::wire::index_mode::rice) ==
          "4d0700902d22010000d8783f");
    CHECK(indices_of(20, {0, 1, 3, 6, 7, 9, 12, 13, 14, 19}, detail::wire::index_mode::bitmap) ==
          "2fcb21");

    index_list rows;  // 8 runs of 4
    for (std::uint32_t row = 0; row < 8; ++row)
        for (std::uint32_t i = 0; i < 4; ++i) rows.push_back(1000 * row * row + i);
    CHECK(indices_of(65'536, rows, detail::wire::index_mode::classes) ==
          "f671509e4e2e03438ea51d47383cd5109241e815251600");

    index_list strides;  // runs of 10, a multiple of 8 apart: the finest classes
    for (std::uint32_t i = 0, next = 0; i < 1100; ++i) {
        strides.push_back(next);
        next += i % 10 == 0 ? 8 * (1 + i % 3) : 1;
    }
    const std::string period = "80003c800108c00318";
    std::string expected = "fe71f4e7f8ce19";
    for (int i = 0; i < 18; ++i) expected += period;
    CHECK(indices_of(8192, strides, detail::wire::index_mode::classes) == expected + "800000");
}

TEST_CASE("golden: dense blocks keep their bytes in every value format") {
    const std::vector<float> values{1.0f, -2.5f, 65504.0f, 1e-7f};
    const auto dense = [&](value_format format) {
        bytes out;
        encode_dense(values, format, out);
        return hex(out);
    };
    CHECK(dense(value_format::fp32) == "000000803f000020c000e07f4795bfd633");
    CHECK(dense(value_format::fp16) == "01003c00c1ff7b0200");
    CHECK(dense(value_format::bf16) == "02803f20c08047d733");
}
