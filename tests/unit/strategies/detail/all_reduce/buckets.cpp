#include "sotto/strategies/detail/all_reduce/message_codec.hpp"
#include "sotto/strategies/detail/all_reduce/buckets.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "sotto/compressors/none.hpp"
#include "sotto/compressors/power_sgd.hpp"

using namespace sotto;

namespace {

/// As many bytes each in fp32, but for those whose names begin with "h": these travel in halves.
struct mixed {
    struct state {
        wire::value_format payload_format(const tensor& t) const {
            return t.name[0] == 'h' ? wire::value_format::fp16 : wire::value_format::fp32;
        }
        void encode(const tensor&, std::span<const float>, bytes&) {}
        void decode_add(const tensor&, byte_view, std::span<float>) {}
    };
    state bind(const layout&) const { return {}; }
};

/// By the layout's own compressor.
template <class Compressor>
std::string grouped(const layout& tensors, const Compressor& compressor, std::int64_t bytes,
                    auto&& can_be_summed) {
    auto state = compressor.bind(tensors);
    const detail::codec_of<Compressor> codec(state);
    std::string out;
    for (const auto& group : detail::buckets(tensors, codec, bytes, can_be_summed)) {
        for (const tensor& t : group) out += t.name + " ";
        out += "| ";
    }
    return out;
}

template <class Compressor>
std::string grouped(const layout& tensors, const Compressor& compressor, std::int64_t bytes) {
    return grouped(tensors, compressor, bytes, [](const tensor&) { return true; });
}

}  // namespace

TEST_CASE("small tensors are grouped from the last on, and larger ones passed over") {
    layout tensors;
    tensors.add("a", {5}).add("W", {100, 10}).add("b", {5}).add("V", {100, 10}).add("c", {5});
    tensors.add("none", {0}).add("d", {10});
    const none plain;
    CHECK(grouped(tensors, plain, 100) == "a b c d | ");  // exactly 100 bytes
    CHECK(grouped(tensors, plain, 99) == "b c d | ");     // nobody is in a group alone
    CHECK(grouped(tensors, plain, 40) == "b c | ");
    CHECK(grouped(tensors, plain, 39) == "");
    CHECK(grouped(tensors, plain, 0) == "");
    CHECK(grouped(tensors, plain, 1 << 20) == "a W b V c d | ");
    CHECK(grouped(tensors, plain, 100, [](const tensor& t) { return t.name != "c"; }) ==
          "a b d | ");
    CHECK(grouped(tensors, fp16{}, 50) == "a b c d | ");
    CHECK(grouped(layout{}, plain, 100) == "");
}

TEST_CASE("tensors of one format alone travel together") {
    layout tensors;
    tensors.add("h1", {5}).add("f1", {5}).add("h2", {5}).add("f2", {5});
    CHECK(grouped(tensors, mixed{}, 40) == "f1 f2 | h1 h2 | ");
    CHECK(grouped(tensors, mixed{}, 20) == "h1 h2 | ");
}

TEST_CASE("what is summed in several payloads travels alone") {
    layout tensors;
    tensors.add("a", {5}).add("matrix", {30, 20}).add("b", {5});
    CHECK(grouped(tensors, power_sgd{}, 1 << 20) == "a b | ");
}
