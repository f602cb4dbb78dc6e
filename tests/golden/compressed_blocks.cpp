#include <doctest/doctest.h>

#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "sotto/compressors/chunked_top_k.hpp"
#include "sotto/compressors/qsgd.hpp"
#include "sotto/compressors/scaled_sign.hpp"
#include "sotto/compressors/terngrad.hpp"

using namespace sotto;

namespace {

std::string hex(byte_view in) {
    std::string text;
    for (const std::byte byte : in) {
        char digits[3];
        std::snprintf(digits, sizeof digits, "%02x", std::to_integer<unsigned>(byte));
        text += digits;
    }
    return text;
}

/// The message of rank 2's fourth step for a tensor of one column, after another one.
template <class Compressor>
std::string message(const Compressor& options, const std::vector<float>& gradient) {
    layout tensors;
    tensors.add("other", {3, 1}).add("w", {static_cast<std::int64_t>(gradient.size()), 1});
    auto state = options.bind(tensors);
    detail::compressing::begin_round(state, {.step = 3, .rank = 2, .world_size = 4});
    bytes out;
    state.encode(tensors[1], gradient, out);
    return hex(out);
}

/// -9.5 to 9.5.
std::vector<float> twenty_values() {
    std::vector<float> values(20);
    for (std::size_t i = 0; i < 20; ++i) values[i] = static_cast<float>(i * 7 % 20) - 9.5f;
    return values;
}

}  // namespace

// Peers of another build depend on these: a change here is a change of the wire format, or of what
// is drawn at random.

TEST_CASE("golden: signs keep their bytes") {
    CHECK(message(scaled_sign{}, twenty_values()) == "0000a040db9204");
    CHECK(message(scaled_sign{}, {}) == "00000000");
}

TEST_CASE("golden: quantised blocks keep their bytes in every width, by either norm") {
    const auto values = twenty_values();
    CHECK(message(qsgd{.bits = 2}, values) == "020300001000fe4cce41");
    CHECK(message(qsgd{.bits = 4}, values) == "04fdd1200ee2300fe2201ffe4cce41");
    CHECK(message(qsgd{.bits = 8}, values) == "08d1f316d6f91bdbfe20e00225e5072aea0d2fef12fe4cce41");
    CHECK(message(qsgd{.bits = 4, .norm = qsgd::maximum, .seed = 9}, values) ==
          "04e9934f0ac5512cd7723d00001841");
    CHECK(message(qsgd{}, {}) == "04");
}

TEST_CASE("golden: ternary codes keep their bytes") {
    CHECK(message(terngrad{}, twenty_values()) == "02df3441100400001841");
    CHECK(message(terngrad{.clip = 1.0, .seed = 9}, twenty_values()) == "02cf344dd7356085b840");
}

TEST_CASE("golden: chunks' largest entries keep their bytes, with one value to four") {
    const chunked_top_k options{.chunk = 8, .kept = 4};
    CHECK(message(options, twenty_values()) == "523333e3c00000f040a72d19d401");
    CHECK(message(options, {0, 0, 5, 0, 0, 0, 0, 0, 0, 5}) == "110000a0401308");
    CHECK(message(options, {0, 0, 5, 0, 0, 0, 0, 0, 0, -5}) == "120000a0c00000a040130801");
    CHECK(message(options, {1, 1, 9, 0, -4, 0, 0, 0}) == "22abaa2abf000010415f0004");
    CHECK(message(options, std::vector<float>(20)) == "00");
    CHECK(message(options, {}) == "00");
}
