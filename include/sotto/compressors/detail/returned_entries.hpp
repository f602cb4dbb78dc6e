#pragma once

#include <algorithm>
#include <vector>

#include "sotto/compressors/detail/versioned_buffer.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/kernels/sparse_add.hpp"

namespace sotto::detail {

/// Entries that come back to a memory in a round. They are added once the round took place, so that
/// nothing needs to be undone if it did not, and a memory that had no gradient in the round needs
/// no new version for them.
///   shape   the entries are the caller's, in memory until add_to or forget
///   cost    16 bytes a tensor; O(entries)
class returned_entries {
public:
    /// For so many tensors.
    explicit returned_entries(const layout& tensors) : of_(tensors.tensors().size()) {}

    /// Entries of a tensor, in place of those that were kept of it before.
    void keep(const tensor& t, const kernels::sparse_values& entries) noexcept;

    /// Adds all of them to what is committed, and forgets them.
    void add_to(const layout& tensors, versioned_buffer& memory) noexcept;

    /// Nothing came back.
    void forget() noexcept { std::fill(of_.begin(), of_.end(), kernels::sparse_values{}); }

private:
    std::vector<kernels::sparse_values> of_;  // by tensor
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/compressors/detail/returned_entries.ipp"
#endif
