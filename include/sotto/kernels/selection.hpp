#pragma once

#include <cstdint>
#include <span>

/// Loops over spans. Each is written once and compiled for several instruction sets; a call runs
/// the best one that the processor has.
namespace sotto::kernels {

/// What a NaN among the values means.
enum class nan_policy : std::uint8_t {
    refuse,   // an error that says where the first one is
    largest,  // larger than infinity, and of two NaNs the one with the larger payload
};

}  // namespace sotto::kernels

namespace sotto::detail::kernels {

/// Entries of a vector: where they are, ascending, and what they are.
template <class Index>
struct basic_selection {
    std::span<const Index> indices;  // ascending
    std::span<const float> values;   // one for each
};

}  // namespace sotto::detail::kernels

namespace sotto::kernels {

/// Of a vector of up to 2^32 values.
using selection = detail::kernels::basic_selection<std::uint32_t>;
/// Of a vector of up to 2^40 values.
using wide_selection = detail::kernels::basic_selection<std::uint64_t>;

}  // namespace sotto::kernels
