#include "sotto/wire/detail/blocks/codebook_block.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fuzz/fuzz.hpp"

using namespace sotto;

namespace {

constexpr std::size_t room = 4096;

// Taken once: memory that every input takes anew, and fills, costs more than decoding.
std::vector<std::uint32_t> indices_room(room), same_indices_room(room);
std::vector<float> values_room(room), same_values_room(room), codebook;
std::vector<std::uint8_t> codes;
bytes again;

}  // namespace

// Whatever is accepted is a strictly increasing list below n of at most four finite values, which
// encodes and decodes to itself.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::input input(data, size);
    const std::int64_t n = fuzz::tensor_size(input);
    const byte_view in = input.rest();
    const auto head = detail::wire::peek_codebook(in);
    const auto entries = detail::wire::decode_codebook(in, n, std::span(indices_room), values_room);
    if (!entries) {
        fuzz::require(entries.why().offset >= 0 &&
                          entries.why().offset <= static_cast<std::int64_t>(in.size()),
                      "a fault lies inside the input");
        return 0;
    }
    const auto indices = entries->indices;
    const auto values = entries->values;
    const std::size_t k = indices.size();
    fuzz::require(values.size() == k, "every index has a value");
    fuzz::require(head && head->entries == static_cast<std::int64_t>(k),
                  "the head tells the entries");
    for (std::size_t i = 0; i < k; ++i) {
        fuzz::require(i == 0 || indices[i - 1] < indices[i], "indices rise strictly");
        fuzz::require(indices[i] < static_cast<std::uint64_t>(n), "indices are below n");
        fuzz::require(detail::is_finite(values[i]), "values are finite");
    }

    codebook.assign(values.begin(), values.end());
    std::sort(codebook.begin(), codebook.end());
    codebook.erase(std::unique(codebook.begin(), codebook.end()), codebook.end());
    fuzz::require(static_cast<int>(codebook.size()) == head->words, "every value has an entry");
    codes.clear();
    for (const float value : values)
        codes.push_back(static_cast<std::uint8_t>(
            std::lower_bound(codebook.begin(), codebook.end(), value) - codebook.begin()));
    again.clear();
    detail::wire::encode_codebook(n, indices, codes, codebook, again);
    fuzz::require(static_cast<std::int64_t>(again.size()) <=
                      detail::wire::encoded_codebook_bytes_max(n, head->entries),
                  "the bound holds");
    const auto code_bytes = static_cast<std::size_t>(
        sotto::detail::wire::codebook_code_bytes(head->entries, head->words));
    fuzz::require(std::equal(again.end() - static_cast<std::ptrdiff_t>(code_bytes), again.end(),
                             in.end() - static_cast<std::ptrdiff_t>(code_bytes)),
                  "codes have one spelling");
    // At the end of their memory, so that a sanitizer sees the first entry beyond.
    const auto same_indices = std::span(same_indices_room).last(k);
    const auto same_values = std::span(same_values_room).last(k);
    fuzz::require(
        static_cast<bool>(detail::wire::decode_codebook(again, n, same_indices, same_values)),
        "what was encoded decodes");
    fuzz::require(std::equal(indices.begin(), indices.end(), same_indices.begin()),
                  "indices come back");
    for (std::size_t i = 0; i < k; ++i)
        fuzz::require(
            std::bit_cast<std::uint32_t>(same_values[i]) == std::bit_cast<std::uint32_t>(values[i]),
            "values come back");
    return 0;
}
