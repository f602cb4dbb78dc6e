#include "sotto/checkpoint/detail/parse_header.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "sotto/checkpoint/detail/format_header.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/wire/detail/coding/little_endian.hpp"

using namespace sotto;
using namespace sotto::detail::checkpoint;

namespace {

bytes file_with(std::string_view json) {
    bytes file(8 + json.size());
    detail::wire::store_little_endian(file.data(), std::uint64_t{json.size()});
    std::copy_n(std::as_bytes(std::span(json)).begin(), json.size(), file.begin() + 8);
    return file;
}

result<file_header> parsed(std::string_view json) {
    return parse_header(file_with(json));
}

/// One tensor described so.
std::string tensor_of(std::string_view dtype, std::string_view shape, std::string_view offsets) {
    return "{\"a\":{\"dtype\":" + std::string(dtype) + ",\"shape\":" + std::string(shape) +
           ",\"data_offsets\":" + std::string(offsets) + "}}";
}

struct refusal {
    std::string json;
    std::int64_t offset;
    std::string_view expected;
    std::int64_t found;
};

void check_refusals(std::span<const refusal> all) {
    for (const refusal& r : all) {
        CAPTURE(r.json);
        const auto header = parsed(r.json);
        REQUIRE_FALSE(header);
        CHECK(header.why().offset == r.offset);
        CHECK(std::string_view(header.why().expected) == r.expected);
        CHECK(header.why().found == r.found);
    }
}

}  // namespace

TEST_CASE("a header is read whatever the order of its tensors, keys and blanks") {
    const auto header = parsed(
        "{ \"b\" : {\"shape\":[2, 3],\"data_offsets\":[4,28],\"dtype\":\"F32\"},\n"
        "\t\"__metadata__\":{\"made \\\"by\\\"\":\"caf\\u00e9 \\ud83d\\ude00 \\/\\n\"},"
        "\"a\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[0,4]},"
        "\"scalar\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[28,36]},"
        "\"none\":{\"dtype\":\"F64\",\"shape\":[0,9223372036854775807],\"data_offsets\":[4,4]}}  "
        " ");
    REQUIRE(header);
    REQUIRE(header->tensors.size() == 4);
    CHECK(header->tensors[0].name == "a");
    CHECK(header->tensors[0].type == dtype::bf16);
    CHECK(header->tensors[1].name == "none");
    CHECK(header->tensors[2].name == "b");
    CHECK(header->tensors[2].shape == std::vector<std::int64_t>{2, 3});
    CHECK(header->tensors[2].size_bytes() == 24);
    CHECK(header->tensors[3].shape.empty());
    CHECK(header->data_bytes() == 36);
    REQUIRE(header->metadata_named("made \"by\"") != nullptr);
    CHECK(*header->metadata_named("made \"by\"") == "caf\xC3\xA9 \xF0\x9F\x98\x80 /\n");
    CHECK(header->metadata_named("made") == nullptr);
    CHECK(entry_index(*header).find("b") == 2u);
    CHECK_FALSE(entry_index(*header).find("c").has_value());
}

TEST_CASE("an empty header holds nothing") {
    const auto header = parsed("{}");
    REQUIRE(header);
    CHECK(header->tensors.empty());
    CHECK(header->file_bytes() == 10);
}

TEST_CASE("what is formatted is parsed to the same, and padded to 8 bytes") {
    file_header header;
    header.metadata = {
        {"quote\"", "back\\slash"}, {"line", "a = b\nc\t\x01\x1f"}, {"", "\xE2\x82\xAC"}};
    header.tensors.push_back({"w", dtype::f32, {3, 1}, 0, 12, 0});
    header.tensors.push_back({"empty \x7f", dtype::u8, {0}, 12, 12, 0});
    header.tensors.push_back({"n", dtype::i64, {}, 12, 20, 0});
    const bytes text = format_header(header);
    CHECK(text.size() % 8 == 0);
    const auto again = parse_header(text);
    REQUIRE(again);
    CHECK(again->metadata == header.metadata);
    REQUIRE(again->tensors.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(again->tensors[i].name == header.tensors[i].name);
        CHECK(again->tensors[i].type == header.tensors[i].type);
        CHECK(again->tensors[i].shape == header.tensors[i].shape);
        CHECK(again->tensors[i].begin == header.tensors[i].begin);
        CHECK(again->tensors[i].end == header.tensors[i].end);
    }
}

TEST_CASE("names that JSON cannot hold and headers that are too long are not written") {
    for (const char* name : {"\xFF", "a\xC3", "\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80"}) {
        file_header header;
        header.metadata = {{name, ""}};
        CHECK_THROWS_AS(format_header(header), invalid_option);
    }
    const auto refusal = [](const std::string& text) {
        file_header header;
        header.metadata = {{"configuration", text}};
        try {
            format_header(header);
        } catch (const invalid_option& e) {
            return std::string(e.what());
        }
        return std::string();
    };
    // The line with it, escaped: not what is left of it behind the first byte that is wrong.
    CHECK(
        refusal("one\nthe \x1b gr\xF6\xDF"
                "te = 1\ntwo") ==
        "checkpoint: 'the \\x1b gr\\xf6\\xdfte = 1' is not UTF-8, and can be no name or text of a "
        "checkpoint");
    CHECK(refusal("\xFF") ==
          "checkpoint: '\\xff' is not UTF-8, and can be no name or text of a checkpoint");
    file_header header;
    header.metadata = {{"long", std::string((1 << 24) - 30, 'x')}};
    CHECK(parse_header(format_header(header)));
    header.metadata = {{"long", std::string(1 << 24, 'x')}};
    CHECK_THROWS_WITH_AS(format_header(header),
                         "checkpoint: there would be 16777248 bytes of header for 0 tensors; at "
                         "most 16777216 are possible",
                         invalid_option);
}

TEST_CASE("what could not be read again is not written") {
    file_header header;
    header.tensors.push_back({"w", dtype::u8, std::vector<std::int64_t>(16, 1), 0, 1, 0});
    CHECK(parse_header(format_header(header)));
    header.tensors[0].shape.push_back(1);
    CHECK_THROWS_WITH_AS(
        format_header(header),
        "checkpoint: there would be 17 extents of tensor 'w'; at most 16 are possible",
        invalid_option);
    header.tensors.clear();
    for (int i = 0; i < 4096; ++i) header.metadata.emplace_back(std::to_string(i), "");
    CHECK(parse_header(format_header(header)));
    header.metadata.emplace_back("one more", "");
    CHECK_THROWS_AS(format_header(header), invalid_option);
}

TEST_CASE("a state of hundreds of ranks fits into a header") {
    file_header header;  // 500 ranks with 100 tensors each
    for (int i = 0; i < 50000; ++i) {
        header.tensors.push_back({"state/rank" + std::to_string(i / 100) + "/residual/block" +
                                      std::to_string(i % 100) + ".convolution.weight",
                                  dtype::f32,
                                  {1},
                                  4 * i,
                                  4 * i + 4,
                                  0});
    }
    const auto again = parse_header(format_header(header));
    REQUIRE(again);
    CHECK(again->tensors.size() == header.tensors.size());
}

TEST_CASE("a header's length is believed only up to 2^24 bytes and the bytes that are there") {
    CHECK(parse_header({}).why().offset == 0);
    const bytes short_one(7);
    CHECK(parse_header(short_one).why().offset == 7);
    for (const std::uint64_t length : {(std::uint64_t{1} << 24) + 1, std::uint64_t{1} << 63,
                                       std::numeric_limits<std::uint64_t>::max()}) {
        bytes file(16);
        detail::wire::store_little_endian(file.data(), length);
        REQUIRE_FALSE(parse_header(file));
        CHECK(parse_header(file).why().offset == 0);
        CHECK(std::string_view(parse_header(file).why().expected) ==
              "a header of at most 2^24 bytes");
    }
    bytes file = file_with("{}");
    file.pop_back();
    REQUIRE_FALSE(parse_header(file));
    CHECK(parse_header(file).why().offset == 9);
}

TEST_CASE("JSON that the format does not have is refused where it departs from it") {
    const refusal all[]{
        {"", 8, "'{' as the first byte of the header", sotto::detail::fault::end},
        {" {}", 8, "'{' as the first byte of the header", ' '},
        {"[]", 8, "'{' as the first byte of the header", '['},
        {"{", 9, "a tensor's name", sotto::detail::fault::end},
        {"{}x", 10, "nothing but blanks after the header's '}'", 'x'},
        {"{\"a\"}", 12, "':' after a tensor's name", '}'},
        {"{\"a\":1}", 13, "'{' before a tensor's dtype, shape and data_offsets", '1'},
        {"{\"a\":{}}", 14, "\"dtype\", \"shape\" or \"data_offsets\"", '}'},
        {"{\"a\":{\"x\":1}}", 14, "each of dtype, shape and data_offsets once: a key of length", 1},
        {"{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\"}}", 28,
         "each of dtype, shape and data_offsets once: a key of length", 5},
        {"{\"a\":{\"dtype\":\"F32\"}}", 28,
         "dtype, shape and data_offsets before the end of a tensor", '}'},
        {"{\"__metadata__\":[]}", 24, "'{' before the metadata", '['},
        {"{\"__metadata__\":{\"a\":1}}", 29, "a string in the metadata", '1'},
        {"{\"__metadata__\":{\"a\":\"\",\"a\":\"\"}}", 8, "each name in the metadata once", 2},
        {"{\"__metadata__\":{},\"__metadata__\":{}}", 27, "__metadata__ once", 2},
    };
    check_refusals(all);
    for (const char* rest : {"", ",", ",}", "]", "\"b\""}) {
        std::string json = tensor_of("\"U8\"", "[1]", "[0,1]");
        json.back() = ' ';
        CHECK_FALSE(parsed(json + rest));
    }
    for (std::size_t depth : {1u, 1000u, 500000u})  // nothing recurses
        CHECK_FALSE(parsed("{\"a\":" + std::string(depth, '{')));
}

TEST_CASE("strings that are no UTF-8 or hold what JSON forbids are refused") {
    for (const char* text :
         {"\xFF", "\x80", "\xC0\xAF", "\xE0\x80\x80", "\xED\xA0\x80", "\xF0\x80\x80\x80",
          "\xF5\x80\x80\x80", "\xE2\x82", "\x01", "\n", "\\x", "\\", "\\u12", "\\u12G4", "\\ud800",
          "\\ud800x", "\\ud800\\u0041", "\\udc00", "\\ud800\\n"}) {
        CAPTURE(text);
        CHECK_FALSE(parsed("{\"__metadata__\":{\"a\":\"" + std::string(text) + "\"}}"));
    }
    CHECK_FALSE(parsed("{\"__metadata__\":{\"a\":\"open"));
    for (const char* text : {"\xC2\x80", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80",
                             "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF", "\\u0000", "\\uFFFF"}) {
        CAPTURE(text);
        CHECK(parsed("{\"__metadata__\":{\"a\":\"" + std::string(text) + "\"}}"));
    }
}

TEST_CASE("shapes, types and places that cannot be are refused") {
    CHECK(parsed(tensor_of("\"F32\"", "[2]", "[0,8]")));
    for (const char* dtype : {"\"f32\"", "\"F128\"", "\"\"", "32", "null"})
        CHECK_FALSE(parsed(tensor_of(dtype, "[2]", "[0,8]")));
    for (const char* shape : {"[-1]", "[02]", "[2.0]", "[2e0]", "[2,]", "[,2]", "[\"2\"]", "2",
                              "[2", "[[2]]", "[1]", "[3]", "[2,2]", "[0]", "[9223372036854775807]",
                              "[9223372036854775808]", "[4611686018427387904,4]",
                              "[2147483648,2147483648,4]", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2]"}) {
        CAPTURE(shape);
        CHECK_FALSE(parsed(tensor_of("\"F32\"", shape, "[0,8]")));
    }
    CHECK(parsed(tensor_of("\"F32\"", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2]", "[0,8]")));
    for (const char* offsets : {"[0]", "[0,8,8]", "[]", "[8,0]", "[1,9]", "[4,12]", "[0,7]",
                                "[0,-8]", "[0,08]", "[0,18446744073709551624]", "0"}) {
        CAPTURE(offsets);
        CHECK_FALSE(parsed(tensor_of("\"F32\"", "[2]", offsets)));
    }
    CHECK_FALSE(parsed(
        tensor_of("\"U8\"", "[9223372036854775807]", "[0,9223372036854775807]")));  // and 8 more
}

TEST_CASE("parse_header: a shape of 2^64 bytes, which wraps to its data -> refused") {
    for (const std::string& json : {tensor_of("\"U8\"", "[4294967296,4294967296]", "[0,0]"),
                                    tensor_of("\"F32\"", "[4611686018427387904]", "[0,0]"),
                                    tensor_of("\"F64\"", "[2305843009213693953]", "[0,8]"),
                                    tensor_of("\"U8\"", "[3,6148914691236517206]", "[0,2]")}) {
        CAPTURE(json);
        const auto header = parsed(json);
        REQUIRE_FALSE(header);
        CHECK(std::string_view(header.why().expected) == "a shape of fewer than 2^63 bytes");
    }
}

TEST_CASE("data with gaps or overlaps and names that come twice are refused") {
    const auto two = [](const char* first, const char* second, const char* name = "b") {
        return "{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":" + std::string(first) +
               "},\"" + name + "\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":" + second +
               "}}";
    };
    CHECK(parsed(two("[0,4]", "[4,8]")));
    CHECK(parsed(two("[4,8]", "[0,4]")));
    const refusal all[]{
        {two("[0,4]", "[5,9]"), 61, "data that begin where the ones before end", 5},
        {two("[0,4]", "[3,7]"), 61, "data that begin where the ones before end", 3},
        {two("[0,4]", "[0,4]"), 61, "data that begin where the ones before end", 0},
        {two("[0,4]", "[4,8]", "a"), 61, "each tensor's name once", 2},
    };
    check_refusals(all);
}

TEST_CASE("tensors without data stay where they are named, however many there are") {
    std::string json = "{";
    for (int i = 0; i < 100; ++i)
        json += (i > 0 ? ",\"" : "\"") + std::to_string(i * 37 % 100) +
                "\":{\"dtype\":\"U8\",\"shape\":[" + (i % 50 == 49 ? "1" : "0") +
                "],\"data_offsets\":[" + std::to_string(i / 50) + "," +
                std::to_string((i + 1) / 50) + "]}";
    const auto header = parsed(json + "}");
    REQUIRE(header);
    for (std::size_t i = 0; i < 100; ++i)
        CHECK(header->tensors[i].name == std::to_string(i * 37 % 100));
}

TEST_CASE("metadata have at most 4096 names") {
    const auto with = [](int count) {
        std::string json = "{\"__metadata__\":{";
        for (int i = 0; i < count; ++i)
            json += (i > 0 ? ",\"" : "\"") + std::to_string(i) + "\":\"\"";
        return json + "}}";
    };
    CHECK(parsed(with(4096)));
    CHECK_FALSE(parsed(with(4097)));
}
