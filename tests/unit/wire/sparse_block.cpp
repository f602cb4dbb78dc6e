#include "sotto/wire/sparse_block.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "support/index_lists.hpp"
#include "support/run_length_code.hpp"

using namespace sotto;
using namespace sotto::wire;
using sotto::testing::index_list;

namespace {

std::vector<float> values_for(std::size_t k, std::uint64_t seed) {
    random_stream random(seed);
    std::vector<float> values(k);
    for (float& value : values) value = random.normal();
    return values;
}

bytes block(std::int64_t n, const index_list& indices, value_format format) {
    bytes out;
    encode_sparse(n, indices, values_for(indices.size(), 1), format, out);
    return out;
}

}  // namespace

TEST_CASE("a block comes back in each format, appended to what was there, inside its bound") {
    for (const value_format format : {value_format::fp32, value_format::fp16, value_format::bf16})
        for (const std::size_t k : {0u, 1u, 2u, 7u, 8u, 40u, 1000u, 20'000u})
            for (std::uint64_t n : {20'000u, 1'000'000u, 4'000'000'000u}) {
                const index_list indices = testing::random_indices(n, k, k + n);
                const auto values = values_for(indices.size(), k);
                const auto size = static_cast<std::int64_t>(n);
                const auto entries = static_cast<std::int64_t>(indices.size());
                bytes out(3);
                encode_sparse(size, indices, values, format, out);
                CHECK(static_cast<std::int64_t>(out.size()) <=
                      3 + encoded_sparse_bytes_max(size, entries, format));

                const byte_view in = byte_view(out).subspan(3);
                const auto head = peek_sparse(in);
                REQUIRE(head);
                CHECK(head->entries == entries);
                CHECK(head->format == format);

                index_list index_room(k + 5);
                std::vector<float> value_room(k + 9);
                const auto back = decode_sparse(in, size, index_room, value_room);
                REQUIRE(back);
                REQUIRE(back->indices.size() == indices.size());
                REQUIRE(back->values.size() == indices.size());
                for (std::size_t i = 0; i < indices.size(); ++i) {
                    REQUIRE(back->indices[i] == indices[i]);
                    REQUIRE(back->values[i] == rounded(format, values[i]));
                }
            }
}

TEST_CASE("a block of a tensor above 2^32 elements comes back") {
    const std::int64_t n = (std::int64_t{1} << 32) + 1;
    const std::vector<std::uint64_t> indices{0, 77, std::uint64_t{1} << 32};
    const std::vector<float> values{1, 2, 3};
    bytes out;
    encode_sparse(n, indices, values, value_format::fp32, out);
    std::vector<std::uint64_t> index_room(3);
    std::vector<float> value_room(3);
    const auto back = decode_sparse(out, n, index_room, value_room);
    REQUIRE(back);
    CHECK(index_room == indices);
    CHECK(value_room == values);
    std::vector<std::uint32_t> narrow(3);
    CHECK_FALSE(decode_sparse(out, n, narrow, value_room));
}

TEST_CASE("a small block is small: one entry of a million in fp32 is eight bytes") {
    CHECK(block(1'000'000, {999'999}, value_format::fp32).size() == 8);
    CHECK(block(1'000'000, {}, value_format::fp32).size() == 1);
    CHECK(block(10, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, value_format::fp16).size() == 1 + 20);
}

TEST_CASE("encoding takes no memory when the bound was reserved") {
    for (const std::size_t k : {1u, 3u, 1000u}) {
        const index_list indices = testing::random_indices(5000, k, 7);
        const auto values = values_for(indices.size(), 3);
        bytes out;
        out.reserve(static_cast<std::size_t>(encoded_sparse_bytes_max(
            5000, static_cast<std::int64_t>(indices.size()), value_format::fp16)));
        const std::byte* const memory = out.data();
        encode_sparse(5000, indices, values, value_format::fp16, out);
        CHECK(out.data() == memory);
    }
}

TEST_CASE("lists that do not pair up or do not rise are refused before anything is written") {
    bytes out;
    const std::vector<float> two(2);
    CHECK_THROWS_AS(encode_sparse(10, index_list{1, 2, 3}, two, value_format::fp32, out),
                    invalid_option);
    CHECK_THROWS_AS(encode_sparse(10, index_list{2, 2}, two, value_format::fp32, out),
                    invalid_option);
    CHECK_THROWS_AS(encode_sparse(10, index_list{2, 10}, two, value_format::fp32, out),
                    invalid_option);
    CHECK(out.empty());
}

TEST_CASE("a block with more entries than elements, or than there is room for, is refused") {
    const bytes in = block(100, {1, 2, 50}, value_format::fp32);
    index_list indices(3), small_indices(2);
    std::vector<float> values(3), small_values(2);
    CHECK(decode_sparse(in, 100, indices, values));
    CHECK_FALSE(decode_sparse(in, 100, small_indices, values));
    CHECK_FALSE(decode_sparse(in, 100, indices, small_values));
    const auto too_many = decode_sparse(in, 2, indices, values);
    REQUIRE_FALSE(too_many);
    CHECK(too_many.why().text() ==
          "at byte 0 expected at most as many entries as elements, found 3");
    CHECK_FALSE(decode_sparse(in, 50, indices, values));
    CHECK_FALSE(decode_sparse({}, 100, indices, values));
    bytes huge;
    detail::wire::append_varint(huge, ~std::uint64_t{3});
    CHECK_FALSE(decode_sparse(huge, detail::wire::index_code_n_max, indices, values));
}

TEST_CASE("a format that does not exist is refused") {
    bytes in = block(100, {1}, value_format::fp32);
    in[0] |= std::byte{3};
    index_list indices(1);
    std::vector<float> values(1);
    CHECK_FALSE(decode_sparse(in, 100, indices, values));
    CHECK_FALSE(peek_sparse(in));
}

TEST_CASE(
    "a block that is cut off, extended or changed in one bit is refused or is another valid "
    "block") {
    const std::int64_t n = 2000;
    for (const index_list& list :
         {index_list{}, index_list{77}, index_list{0, 1, 2, 3}, index_list{5, 100, 1999},
          testing::random_indices(2000, 100, 1), testing::runs_of_indices(2000, 60, 2)}) {
        bytes whole = block(n, list, value_format::fp16);
        index_list indices(n);
        std::vector<float> values(n);
        for (std::size_t size = 0; size < whole.size(); ++size)
            REQUIRE_FALSE(decode_sparse(byte_view(whole).first(size), n, indices, values));
        whole.push_back(std::byte{0});
        REQUIRE_FALSE(decode_sparse(whole, n, indices, values));
        whole.pop_back();
        for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
            const auto flip = static_cast<std::byte>(1u << bit % 8);
            whole[bit / 8] ^= flip;
            if (const auto other = decode_sparse(whole, n, indices, values)) {
                for (std::size_t i = 1; i < other->indices.size(); ++i)
                    REQUIRE(other->indices[i - 1] < other->indices[i]);
                if (!other->indices.empty()) REQUIRE(other->indices.back() < n);
            }
            whole[bit / 8] ^= flip;
        }
    }
}

TEST_CASE("a refusal says where in the block it happened") {
    bytes in = block(1'000'000, {5, 6, 700}, value_format::fp32);
    in.pop_back();
    index_list indices(3);
    std::vector<float> values(3);
    const auto refused = decode_sparse(in, 1'000'000, indices, values);
    REQUIRE_FALSE(refused);
    CHECK(refused.why().offset >= 1);
    CHECK(std::string(refused.why().expected).size() > 5);
}

// The sizes that the paper reports are in units of 2^20 bytes; one entry in a thousand of all
// weights is sent, and tensors of one dimension go whole, in fp32.
TEST_CASE("the paper's sizes follow from its format, and ours are smaller") {
    struct network {
        const char* name;
        std::int64_t parameters, one_dimensional;
        double reported;
    };
    for (const network& net : {network{"AlexNet", 60'965'224, 10'568, 0.389},
                               network{"ResNet-50", 25'557'032, 54'120, 0.352},
                               network{"PTB LSTM", 51'034'000, 34'000, 0.42}}) {
        const std::int64_t weights = net.parameters - net.one_dimensional;
        const std::int64_t k = (weights + 999) / 1000;
        const double published = static_cast<double>(6 * k + 4 * net.one_dimensional) / 0x1p20;
        CHECK(published == doctest::Approx(net.reported).epsilon(0.01));

        const auto indices = testing::random_indices(static_cast<std::uint64_t>(weights),
                                                     static_cast<std::size_t>(k), 11);
        const auto values = values_for(indices.size(), 12);
        const auto entries = static_cast<double>(indices.size());
        bytes paper;
        const std::int64_t fillers = testing::run_length_code::encode(indices, values, paper);
        CHECK(fillers == 0);  // a gap above 65535 at density 1/1000 comes once in e^65 entries
        CHECK(static_cast<double>(paper.size()) == 6 * entries);

        for (const value_format format : {value_format::fp32, value_format::fp16}) {
            bytes out;
            const detail::wire::coded_indices coded =
                encode_sparse(weights, indices, values, format, out);
            const double index_bits = static_cast<double>(coded.bits) / entries;
            const auto value_bits = 8 * bytes_per_value(format);
            CHECK(index_bits < 11.5);  // log2 C(n, n/1000) is 11.41 an entry
            CHECK(static_cast<double>(out.size()) <
                  (format == value_format::fp32 ? 0.91 : 0.58) * 6 * entries);
            MESSAGE(
                std::string(net.name), ": paper ", published, " MB, 16 + 32 bits an entry; ours ",
                index_bits, " + ", value_bits, " bits an entry, ",
                static_cast<double>(out.size()) / 0x1p20, " MB, and tensors of one dimension ",
                static_cast<double>(net.one_dimensional * bytes_per_value(format)) / 0x1p20, " MB");
        }
    }
}
