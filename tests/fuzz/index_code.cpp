#include "sotto/wire/detail/coding/index_code.hpp"

#include <cstdint>
#include <span>
#include <vector>

#include "fuzz/fuzz.hpp"

using namespace sotto;

namespace {

template <class Index>
void require_round_trip(std::int64_t n, const std::vector<Index>& indices) {
    bytes out;
    const auto coded = detail::wire::encode_indices(n, indices, out);
    fuzz::require(coded.bits <= detail::wire::index_code_bits_max(
                                    n, static_cast<std::int64_t>(indices.size())),
                  "the bound holds");
    fuzz::require(static_cast<std::int64_t>(out.size()) == (coded.bits + 7) / 8,
                  "the bits are those written");
    std::vector<Index> back(indices.size());
    fuzz::require(static_cast<bool>(detail::wire::decode_indices(n, out, std::span(back))),
                  "what was encoded decodes");
    fuzz::require(back == indices, "what was encoded comes back");
}

// The input as a code.
template <class Index>
void decode(std::int64_t n, std::size_t k, byte_view in) {
    std::vector<Index> indices(k);
    const auto mode = detail::wire::decode_indices(n, in, std::span(indices));
    if (!mode) {
        fuzz::require(
            mode.why().offset >= 0 && mode.why().offset <= static_cast<std::int64_t>(in.size()),
            "a fault lies inside the input");
        return;
    }
    for (std::size_t i = 0; i < k; ++i) {
        fuzz::require(i == 0 || indices[i - 1] < indices[i], "indices rise strictly");
        fuzz::require(indices[i] < static_cast<std::uint64_t>(n), "indices are below n");
    }
    require_round_trip(n, indices);
}

// The input as gaps: each byte is a width and a few leading bits.
template <class Index>
void encode(std::int64_t n, byte_view in) {
    std::vector<Index> indices;
    std::uint64_t next = 0;
    for (const std::byte byte : in) {
        const auto value = std::to_integer<std::uint64_t>(byte);
        next += value < 64 ? value : (value & 7) << ((value >> 3 & 31) % 30);
        if (next >= static_cast<std::uint64_t>(n)) break;
        indices.push_back(static_cast<Index>(next++));
    }
    require_round_trip(n, indices);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::input in(data, size);
    const auto choice = in.number(1);
    const std::int64_t n = fuzz::tensor_size(in);
    const bool narrow = choice % 2 == 0 && n <= std::int64_t{1} << 32;
    if (choice % 4 < 2)
        return narrow ? encode<std::uint32_t>(n, in.rest()) : encode<std::uint64_t>(n, in.rest()),
               0;
    const std::size_t k = in.number(2) % 4096;
    return narrow ? decode<std::uint32_t>(n, k, in.rest()) : decode<std::uint64_t>(n, k, in.rest()),
           0;
}
