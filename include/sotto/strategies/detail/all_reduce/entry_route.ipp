#pragma once

#include "sotto/strategies/detail/all_reduce/entry_route.hpp"

#include "sotto/collectives/detail/sparse_all_reduce.hpp"
#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL bool entry_route::chooses(const message_codec& codec,
                                     const exchange_ways& ways) noexcept {
    return codec.can.sparse && (ways.scatters || ways.fits);
}

SOTTO_DECL bool entry_route::reselects(const message_codec& codec,
                                       const exchange_ways& ways) noexcept {
    return chooses(codec, ways) && codec.can.takes_back && !codec.can.has_after_sum;
}

SOTTO_DECL entry_route::entry_route(const tensor& t, const message_codec& codec, int world,
                                    const exchange_ways& ways)
    : size_(t.size), world_(world), asked_(ways.scattering) {
    if (!chooses(codec, ways)) return;
    plans_ = codec.can.plans_entries;
    entries_max_ = codec.entries_max(t);
    format_ = codec.entry_format(t);
    if (!reselects(codec, ways)) return;
    if (ways.scatters || collectives::choose_sparse(size_, entries_max_, world_, plans_, format_) ==
                             sparse_way::reduce_scatter)
        while_sparse_ = sparse_way::reduce_scatter;
}

SOTTO_DECL std::int64_t entry_route::kept_now(const message_codec& codec, const tensor& t) const {
    return asked_.kept_of(entries_now(codec, t), size_);
}

SOTTO_DECL collectives::sparse_all_reduce entry_route::bind(transport_ref through,
                                                            std::int64_t size) const {
    return asked_.bind(through, size, entries_max_, format_);
}

SOTTO_DECL collectives::sparse_all_reduce entry_route::bind(transport_ref through) const {
    return bind(through, size_);
}

SOTTO_DECL bool entry_route::is_dense(std::int64_t entries) const noexcept {
    return plans_ && collectives::is_dense_shorter(while_sparse_, size_, entries,
                                                   asked_.kept_at_most(entries, size_, world_),
                                                   world_, format_);
}

}  // namespace sotto::detail
