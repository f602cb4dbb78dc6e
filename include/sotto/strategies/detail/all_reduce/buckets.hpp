#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "sotto/core/layout.hpp"
#include "sotto/strategies/detail/all_reduce/message_codec.hpp"

namespace sotto::detail {

/// Which tensors travel together: those that are summed as one payload and whose bytes, in the
/// format in which they travel, fit into a group with their small neighbours' of that format.
/// Larger tensors in between are passed over: in a layer's bias and scale, neighbours are the next
/// layers' own. From the last tensor to the first, as backward goes, so that a group waits for few
/// layers; members are in the order of their indices.
///   math    a table of sizes: the same groups on every rank. Nobody is in a group alone
std::vector<std::vector<tensor>> buckets(const layout& tensors, const message_codec& codec,
                                         std::int64_t bucket_bytes,
                                         const std::function<bool(const tensor&)>& can_be_summed);

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/detail/all_reduce/buckets.ipp"
#endif
