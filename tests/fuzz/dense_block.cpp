#include "sotto/wire/dense_block.hpp"

#include <cstring>
#include <span>
#include <vector>

#include "fuzz/fuzz.hpp"

using namespace sotto;

namespace {

// Two chunks of halves and a few more; an input of 4096 bytes is not longer. Taken once: memory
// that every input takes anew, and fills, costs far more than decoding.
constexpr std::size_t values_max = 4096;
const std::vector<float> ones(values_max, 1.0f);
std::vector<float> memory = ones, memory_again(values_max);
bytes again, third;

}  // namespace

// Whatever is accepted comes back bit for bit when its values are encoded again, but for signalling
// NaNs in fp16.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::input in(data, size);
    const std::size_t n = in.number(2) % (values_max + 1);
    // At the end of their memory, so that a sanitizer sees the first byte beyond.
    const auto values = std::span(memory).last(n), same = std::span(memory_again).last(n);
    const bool accepted = static_cast<bool>(wire::decode_dense(in.rest(), values));
    if (!accepted) {
        fuzz::require(std::memcmp(memory.data(), ones.data(), 4 * values_max) == 0,
                      "a refused block touches nothing");
        return 0;
    }
    const auto format = static_cast<wire::value_format>(in.rest()[0]);
    again.clear();
    wire::encode_dense(values, format, again);
    fuzz::require(again.size() == in.rest().size(), "a block has one size");
    fuzz::require(static_cast<bool>(wire::decode_dense(again, same)), "what was encoded decodes");
    third.clear();
    wire::encode_dense(same, format, third);
    fuzz::require(again == third, "a block that was rounded once stays as it is");
    if (n > 0) std::memcpy(values.data(), ones.data(), 4 * n);
    return 0;
}
