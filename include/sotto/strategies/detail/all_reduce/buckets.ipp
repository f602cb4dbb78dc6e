#pragma once

#include "sotto/strategies/detail/all_reduce/buckets.hpp"

#include <algorithm>
#include <utility>

#include "sotto/core/config.hpp"
#include "sotto/wire/value_format.hpp"

namespace sotto::detail {

SOTTO_DECL std::vector<std::vector<tensor>> buckets(
    const layout& tensors, const message_codec& codec, std::int64_t bucket_bytes,
    const std::function<bool(const tensor&)>& can_be_summed) {
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
        if (t->size == 0 || !can_be_summed(*t) || codec.payload_count(*t) != 1) continue;
        const wire::value_format format = codec.payload_format(*t);
        const std::int64_t size = t->size * sotto::wire::bytes_per_value(format);
        if (size > bucket_bytes) continue;
        auto found = std::find_if(open.begin(), open.end(),
                                  [&](const auto& each) { return each.first == format; });
        if (found == open.end()) found = open.insert(open.end(), {format, {}});
        open_group& group = found->second;
        if (group.bytes + size > bucket_bytes) close(group);
        group.bytes += size;
        group.members.push_back(*t);
    }
    for (auto& [format, group] : open) close(group);
    return groups;
}

}  // namespace sotto::detail
