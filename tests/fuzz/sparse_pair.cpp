#include "sotto/wire/detail/blocks/sparse_pair.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
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

// What two blocks give together is what each gives alone, one behind the other.
template <class Index>
void decode(const detail::wire::sized_block& first, const detail::wire::sized_block& second) {
    static memory_for<Index> together, alone;
    const auto both = detail::wire::decode_sparse_pair({first, second}, std::span(together.indices),
                                                       std::span(together.values));
    if (!both) return;
    const auto a = wire::decode_sparse(first.in, first.n, std::span(alone.indices), alone.values);
    fuzz::require(static_cast<bool>(a), "the first is right alone");
    const std::size_t k = a->indices.size();
    const auto b = wire::decode_sparse(second.in, second.n, std::span(alone.indices).subspan(k),
                                       std::span(alone.values).subspan(k));
    fuzz::require(static_cast<bool>(b), "the second is right alone");
    const auto same = [](const auto& x, const auto& y) {
        return x.size() == y.size() &&
               (x.empty() || std::memcmp(x.data(), y.data(), x.size_bytes()) == 0);
    };
    fuzz::require(same((*both)[0].indices, a->indices) && same((*both)[1].indices, b->indices),
                  "indices are those that come alone");
    fuzz::require(same((*both)[0].values, a->values) && same((*both)[1].values, b->values),
                  "values are those that come alone");
}

}  // namespace

// A byte says how indices are numbered, two or more the sizes of the tensors, two how long the
// first block is.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::input in(data, size);
    const bool narrow = in.number(1) % 2 == 0;
    const std::int64_t n = fuzz::tensor_size(in), other = fuzz::tensor_size(in);
    const auto cut = static_cast<std::size_t>(in.number(2));
    const byte_view rest = in.rest();
    const std::size_t at = std::min(cut, rest.size());
    const detail::wire::sized_block first{rest.first(at), n}, second{rest.subspan(at), other};
    narrow ? decode<std::uint32_t>(first, second) : decode<std::uint64_t>(first, second);
    return 0;
}
