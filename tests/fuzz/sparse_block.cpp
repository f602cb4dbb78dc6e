#include "sotto/wire/sparse_block.hpp"

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "fuzz/fuzz.hpp"

using namespace sotto;

namespace {

constexpr std::size_t room = 4096;

// Whatever is accepted is a strictly increasing list below n that encodes and decodes to itself.
template <class Index>
void decode(std::int64_t n, byte_view in) {
    std::vector<Index> indices(room);
    std::vector<float> values(room);
    const auto entries = wire::decode_sparse(in, n, std::span(indices), std::span(values));
    if (!entries) {
        fuzz::require(entries.why().offset >= 0 &&
                          entries.why().offset <= static_cast<std::int64_t>(in.size()),
                      "a fault lies inside the input");
        return;
    }
    const std::size_t k = entries->indices.size();
    fuzz::require(entries->values.size() == k, "every index has a value");
    for (std::size_t i = 0; i < k; ++i) {
        fuzz::require(i == 0 || indices[i - 1] < indices[i], "indices rise strictly");
        fuzz::require(indices[i] < static_cast<std::uint64_t>(n), "indices are below n");
    }
    const auto head = wire::peek_sparse(in);
    fuzz::require(head && head->entries == static_cast<std::int64_t>(k),
                  "the head tells the entries");

    bytes again;
    wire::encode_sparse(n, entries->indices, entries->values, head->format, again);
    fuzz::require(static_cast<std::int64_t>(again.size()) <=
                      wire::encoded_sparse_bytes_max(n, head->entries, head->format),
                  "the bound holds");
    std::vector<Index> same_indices(k);
    std::vector<float> same_values(k);
    fuzz::require(static_cast<bool>(wire::decode_sparse(again, n, std::span(same_indices),
                                                        std::span(same_values))),
                  "what was encoded decodes");
    for (std::size_t i = 0; i < k; ++i) {
        fuzz::require(same_indices[i] == indices[i], "indices come back");
        const float expected = wire::rounded(head->format, values[i]);
        fuzz::require(std::bit_cast<std::uint32_t>(same_values[i]) ==
                          std::bit_cast<std::uint32_t>(expected),
                      "values come back as they were rounded");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::input in(data, size);
    const bool narrow = in.number(1) % 2 == 0;
    const std::int64_t n = fuzz::tensor_size(in);
    narrow ? decode<std::uint32_t>(n, in.rest()) : decode<std::uint64_t>(n, in.rest());
    return 0;
}
