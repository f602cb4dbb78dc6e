#include "sotto/wire/sparse_block.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "fuzz/fuzz.hpp"

using namespace sotto;

namespace {

constexpr std::size_t room = 4096;

// Taken once: memory that every input takes anew, and fills, costs more than decoding.
template <class Index>
struct memory_for {
    std::vector<Index> indices = std::vector<Index>(room);
    std::vector<float> values = std::vector<float>(room);
};

bytes again;

// Whatever is accepted is a strictly increasing list below n that encodes and decodes to itself.
template <class Index>
void decode(std::int64_t n, byte_view in) {
    static memory_for<Index> first, second;
    const auto head = wire::peek_sparse(in);
    // An entry that is accepted but not written would then not rise, or not be below n.
    const auto claimed = head ? std::clamp<std::int64_t>(head->entries, 0, room) : 0;
    std::memset(first.indices.data(), 0xFF, static_cast<std::size_t>(claimed) * sizeof(Index));

    const auto entries = wire::decode_sparse(in, n, std::span(first.indices), first.values);
    if (!entries) {
        fuzz::require(entries.why().offset >= 0 &&
                          entries.why().offset <= static_cast<std::int64_t>(in.size()),
                      "a fault lies inside the input");
        return;
    }
    const std::span<const Index> indices = entries->indices;
    const std::span<const float> values = entries->values;
    const std::size_t k = indices.size();
    fuzz::require(values.size() == k, "every index has a value");
    for (std::size_t i = 0; i < k; ++i) {
        fuzz::require(i == 0 || indices[i - 1] < indices[i], "indices rise strictly");
        fuzz::require(indices[i] < static_cast<std::uint64_t>(n), "indices are below n");
    }
    fuzz::require(head && head->entries == static_cast<std::int64_t>(k),
                  "the head tells the entries");

    again.clear();
    wire::encode_sparse(n, indices, values, head->format, again);
    fuzz::require(static_cast<std::int64_t>(again.size()) <=
                      wire::encoded_sparse_bytes_max(n, head->entries, head->format),
                  "the bound holds");
    // At the end of their memory, so that a sanitizer sees the first entry beyond.
    const auto same_indices = std::span(second.indices).last(k);
    const auto same_values = std::span(second.values).last(k);
    std::memset(same_indices.data(), 0xFF, same_indices.size_bytes());
    fuzz::require(static_cast<bool>(wire::decode_sparse(again, n, same_indices, same_values)),
                  "what was encoded decodes");
    fuzz::require(std::equal(indices.begin(), indices.end(), same_indices.begin()),
                  "indices come back");
    for (std::size_t i = 0; i < k; ++i)
        fuzz::require(std::bit_cast<std::uint32_t>(same_values[i]) ==
                          std::bit_cast<std::uint32_t>(wire::rounded(head->format, values[i])),
                      "values come back as they were rounded");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::input in(data, size);
    const bool narrow = in.number(1) % 2 == 0;
    const std::int64_t n = fuzz::tensor_size(in);
    narrow ? decode<std::uint32_t>(n, in.rest()) : decode<std::uint64_t>(n, in.rest());
    return 0;
}
