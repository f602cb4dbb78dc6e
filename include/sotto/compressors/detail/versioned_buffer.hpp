#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sotto/core/detail/memory/large_pages.hpp"
#include "sotto/core/layout.hpp"

namespace sotto::detail {

/// One float per weight that a failed round leaves bit for bit as it was: a step writes beside the
/// committed values, and a commit makes what was written the committed ones. Floating-point sums
/// cannot be undone by subtracting, and a log of what was sent does not bring back what was there
/// before this step's gradient came in.
///   cost   8 bytes a weight; what is written over is fetched first, 4 bytes a weight more than
///          in place, unless it streams (kernels::dgc_buffers)
class versioned_buffer {
public:
    versioned_buffer() = default;
    /// Zeros for all tensors of a layout.
    explicit versioned_buffer(const layout& tensors);

    /// The values as after the last commit.
    std::span<const float> committed(const tensor& t) const noexcept;

    /// Where this round's values go. The caller writes all of them.
    std::span<float> next(const tensor& t) noexcept;

    void commit() noexcept;

    void rollback() noexcept { written_.assign(written_.size(), 0); }

    /// For saving and loading: the committed values.
    std::span<float> committed(const tensor& t) noexcept;

private:
    static std::size_t slot(const tensor& t) noexcept { return static_cast<std::size_t>(t.index); }

    large_vector<float> values_[2];
    std::vector<std::uint8_t> current_;  // which of the two is committed, per tensor
    std::vector<std::uint8_t> written_;  // whether the other one was written in this round
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/compressors/detail/versioned_buffer.ipp"
#endif
