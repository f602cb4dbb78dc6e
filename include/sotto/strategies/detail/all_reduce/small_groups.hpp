#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "sotto/compressors/compressor.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/wire/value_format.hpp"

namespace sotto::detail {

/// Which tensors travel together: those that are summed as one payload and whose bytes, in the
/// format in which they travel, fit into a group with their small neighbours' of that format.
/// Larger tensors in between are passed over: in a layer's bias and scale, neighbours are the next
/// layers' own. From the last tensor to the first, as backward goes, so that a group waits for few
/// layers; members are in the order of their indices.
///   math    a table of sizes: the same groups on every rank. Nobody is in a group alone
template <class State>
std::vector<std::vector<tensor>> small_groups(const layout& tensors, const State& compressor,
                                              std::int64_t group_bytes, auto&& can_be_summed) {
    struct open_group {
        std::int64_t bytes = 0;
        std::vector<tensor> members{};
    };
    std::vector<std::vector<tensor>> groups;
    const auto close = [&](open_group& group) {
        if (group.members.size() > 1) {
            std::reverse(group.members.begin(), group.members.end());
            groups.push_back(std::move(group.members));
        }
        group = {};
    };
    std::vector<std::pair<wire::value_format, open_group>> open;
    const auto all = tensors.tensors();
    for (auto t = all.rbegin(); t != all.rend(); ++t) {
        if (t->size == 0 || !can_be_summed(*t) || compressing::payload_count(compressor, *t) != 1)
            continue;
        const wire::value_format format = compressing::payload_format(compressor, *t);
        const std::int64_t size = t->size * sotto::wire::bytes_per_value(format);
        if (size > group_bytes) continue;
        auto found = std::find_if(open.begin(), open.end(),
                                  [&](const auto& each) { return each.first == format; });
        if (found == open.end()) found = open.insert(open.end(), {format, {}});
        open_group& group = found->second;
        if (group.bytes + size > group_bytes) close(group);
        group.bytes += size;
        group.members.push_back(*t);
    }
    for (auto& [format, group] : open) close(group);
    return groups;
}

}  // namespace sotto::detail
