#pragma once

#include "sotto/strategies/detail/shard.hpp"

#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL std::span<const tensor> shard::of(const layout& all) const noexcept {
    return std::span<const tensor>(all.tensors()).subspan(first, last - first);
}

SOTTO_DECL std::int64_t shard::begin_of(const layout& all) const noexcept {
    return tensors() == 0 ? 0 : of(all).front().offset;
}

SOTTO_DECL std::int64_t shard::size_of(const layout& all) const noexcept {
    std::int64_t sum = 0;
    for (const tensor& t : of(all)) sum += t.size;
    return sum;
}

SOTTO_DECL layout shard::alone(const layout& all) const {
    layout made;
    for (const tensor& t : of(all)) made.add(t.name, t.shape, t.kind);
    return made;
}

SOTTO_DECL std::vector<shard> shards_of(const layout& all, int servers) {
    std::vector<shard> made;
    const double share = static_cast<double>(all.size()) / servers;
    std::size_t next = 0;
    double before = 0.0;  // parameters of the ranges so far
    for (int s = 0; s < servers; ++s) {
        shard& part = made.emplace_back(shard{next, next});
        // A tensor belongs where its middle is.
        while (next < all.tensors().size()) {
            const auto size = static_cast<double>(all.tensors()[next].size);
            if (s + 1 < servers && before + size / 2 >= (s + 1) * share) break;
            before += size;
            part.last = ++next;
        }
    }
    return made;
}

}  // namespace sotto::detail
