#pragma once

#include <cstdint>
#include <span>

/// Loops over spans. Each is written once and compiled for several instruction sets; a call runs
/// the best one that the processor has.
namespace sotto::kernels {

/// How selections treat NaN values.
enum class nan_policy : std::uint8_t {
    refuse,   // throws an error with the place of the first one
    largest,  // larger than infinity; of two NaNs the larger payload
};

}  // namespace sotto::kernels

namespace sotto::detail::kernels {

/// Entries of a vector: their indices, ascending, and their values.
template <class Index>
struct basic_selection {
    std::span<const Index> indices;  // ascending
    std::span<const float> values;   // one for each
};

}  // namespace sotto::detail::kernels

namespace sotto::kernels {

/// Entries of a vector of up to 2^32 values.
using selection = detail::kernels::basic_selection<std::uint32_t>;
/// Entries of a vector of up to 2^40 values.
using wide_selection = detail::kernels::basic_selection<std::uint64_t>;

}  // namespace sotto::kernels
