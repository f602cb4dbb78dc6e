#pragma once

#include "sotto/collectives/detail/neighbour_exchange.hpp"

#include "sotto/collectives/detail/refuse_mixing.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/size_only.hpp"
#include "sotto/core/detail/memory/finite.hpp"
#include "sotto/kernels/detail/simd/reductions.hpp"

namespace sotto::detail::collectives {

SOTTO_DECL neighbour_exchange::neighbour_exchange(transport_ref through, std::int64_t size_max,
                                                  int neighbours_expected, mixing_by how)
    : through_(through), size_max_(size_max), how_(how) {
    if (size_max < 0)
        throw invalid_option("neighbour_exchange: at most " + std::to_string(size_max) +
                             " values; at least 0 are possible");
    // Small models use several segments too, so that they travel while others are computed.
    constexpr std::int64_t shortest = 4096, longest = 65536, scratch = std::int64_t{1} << 21;
    const auto links = std::max<std::int64_t>(neighbours_expected, 1);
    segment_ = std::clamp(size_max / 8, shortest,
                          std::clamp(scratch / (links * window), shortest, longest));
    make_room(static_cast<std::size_t>((std::max)(neighbours_expected, 0)));
}

SOTTO_DECL neighbour_exchange::~neighbour_exchange() {
    const auto is_under_way = [](const auto& r) { return r.has_value(); };
    if (std::ranges::any_of(receives_, is_under_way) || std::ranges::any_of(sends_, is_under_way))
        through_.withdraw();
}

SOTTO_DECL void neighbour_exchange::start(std::span<float> values,
                                          const sotto::topologies::mixing_matrix& matrix,
                                          tag label) {
    start(values, matrix, label, [](int) { return true; });
}

SOTTO_DECL void neighbour_exchange::lose(int rank) noexcept {
    for (auto* side : {&sources_, &targets_})
        for (link& with : *side)
            if (with.rank == rank) with.is_lost = true;
}

SOTTO_DECL bool neighbour_exchange::mixes_with(int rank) const noexcept {
    return std::ranges::any_of(
        sources_, [&](const link& from) { return from.rank == rank && !from.is_lost; });
}

SOTTO_DECL bool neighbour_exchange::mixes() const noexcept {
    return std::ranges::any_of(sources_, [](const link& from) { return !from.is_lost; });
}

SOTTO_DECL bool neighbour_exchange::advance() {
    for (bool moved = true; moved && !complete();) {
        moved = post_receives();
        moved = post_sends() || moved;
        moved = mix_next() || moved;
    }
    return complete();
}

SOTTO_DECL float neighbour_exchange::weight_of(const topologies::neighbour& n) const noexcept {
    return how_ == mixing_by::shares ? sotto::topologies::summable_weight(n.weight)
                                     : static_cast<float>(n.weight);
}

SOTTO_DECL void neighbour_exchange::make_room(std::size_t links) {
    if (links <= links_max_) return;
    const std::int64_t room = (std::min)(segment_, std::max<std::int64_t>(size_max_, 1));
    arriving_.reserve(window * links * static_cast<std::size_t>(room));
    for (auto* side : {&receives_, &sends_}) side->resize(window * links);
    sources_.reserve(links);
    targets_.reserve(links);
    others_.reserve(links);
    through_.reserve(2 * window * static_cast<std::int64_t>(links));
    links_max_ = links;
}

SOTTO_DECL std::int64_t neighbour_exchange::end_of(std::int64_t segment) const noexcept {
    return std::ssize(values_) - segment * segment_;
}

SOTTO_DECL std::int64_t neighbour_exchange::begin_of(std::int64_t segment) const noexcept {
    return std::max<std::int64_t>(end_of(segment) - segment_, 0);
}

SOTTO_DECL std::span<float> neighbour_exchange::values_of(std::int64_t segment) const noexcept {
    return values_.subspan(static_cast<std::size_t>(begin_of(segment)),
                           static_cast<std::size_t>(end_of(segment) - begin_of(segment)));
}

SOTTO_DECL std::size_t neighbour_exchange::slot(std::int64_t segment,
                                                std::size_t index) const noexcept {
    return static_cast<std::size_t>(segment % window) * links_max_ + index;
}

SOTTO_DECL std::span<float> neighbour_exchange::arrival(std::int64_t segment,
                                                        std::size_t index) noexcept {
    const auto size = static_cast<std::size_t>(end_of(segment) - begin_of(segment));
    if (!has_content(values_)) return size_only<float>(size);
    const auto room = static_cast<std::size_t>((std::min)(segment_, size_max_));
    return {arriving_.data() + slot(segment, index) * room, size};
}

SOTTO_DECL bool neighbour_exchange::post_receives() {
    bool moved = false;
    for (; received_ < segments_ && received_ < mixed_ + window; ++received_, moved = true)
        for (std::size_t i = 0; i < sources_.size(); ++i)
            attempt(sources_[i], [&] {
                receives_[slot(received_, i)] = through_.receive(
                    sources_[i].rank, label_, std::as_writable_bytes(arrival(received_, i)));
            });
    return moved;
}

SOTTO_DECL bool neighbour_exchange::post_sends() {
    bool moved = false;
    for (; sent_ < segments_ && sent_ < mixed_ + window && begin_of(sent_) >= released_;
         ++sent_, moved = true)
        for (std::size_t i = 0; i < targets_.size(); ++i)
            attempt(targets_[i], [&] {
                sends_[slot(sent_, i)] =
                    through_.send(targets_[i].rank, label_, std::as_bytes(values_of(sent_)));
            });
    return moved;
}

SOTTO_DECL bool neighbour_exchange::mix_next() {
    if (mixed_ >= sent_ || !all_here()) return false;
    for (std::size_t i = 0; i < targets_.size(); ++i)
        if (!is_done(targets_[i], sends_[slot(mixed_, i)])) return false;
    const auto values = values_of(mixed_);
    const double n = static_cast<double>(values.size());
    const double sources = static_cast<double>(sources_.size());
    through_.charge({.flops = 3.0 * n * sources, .bytes = 4.0 * n * (2.0 + sources)});
    if (has_content(values_)) mix(values);
    ++mixed_;
    return true;
}

SOTTO_DECL bool neighbour_exchange::all_here() {
    bool all = true;
    for (std::size_t i = 0; i < sources_.size(); ++i)
        all = is_done(sources_[i], receives_[slot(mixed_, i)],
                      static_cast<std::int64_t>(arrival(mixed_, i).size_bytes())) &&
              all;
    return all;
}

SOTTO_DECL void neighbour_exchange::mix(std::span<float> values) {
    const std::int64_t begin = begin_of(mixed_);
    std::int64_t from = begin, end = end_of(mixed_);
    if (how_ == mixing_by::shares && mixed_ == 0) {
        --end;
        mix_weight(values, end - begin);
    }
    std::size_t place = places_.empty() ? 0 : part_at(begin);
    while (from < end) {
        const bool is_last = places_.empty() || place + 1 == places_.size();
        const std::int64_t to = is_last ? end : (std::min)(end, places_[place + 1]);
        const double change = mix_part(values, from - begin, to - from);
        squared_change_ += change;
        if (!places_.empty()) changes_[place] += change;
        from = to;
        ++place;
    }
}

SOTTO_DECL std::size_t neighbour_exchange::part_at(std::int64_t at) const noexcept {
    return static_cast<std::size_t>(std::ranges::upper_bound(places_, at) - places_.begin() - 1);
}

SOTTO_DECL void neighbour_exchange::mix_weight(std::span<float> values, std::int64_t place) {
    const auto weight = part_of(values, place, 1);
    weight_before_ = weight[0];
    kernels::average(own_share_, weight, others_);
    weight_after_ = weight[0];
    if (!is_finite(weight_after_)) refuse(begin_of(mixed_) + place);
}

SOTTO_DECL double neighbour_exchange::mix_part(std::span<float> values, std::int64_t first,
                                               std::int64_t count) {
    const auto part = part_of(values, first, count);
    const double change =
        how_ == mixing_by::differences
            ? kernels::mix(part, others_)
            : kernels::share_out(own_share_, part, others_, weight_before_, weight_after_);
    if (!kernels::is_finite(change)) refuse(begin_of(mixed_) + first);
    return change;
}

SOTTO_DECL std::span<float> neighbour_exchange::part_of(std::span<float> values, std::int64_t first,
                                                        std::int64_t count) {
    others_.clear();
    for (std::size_t i = 0; i < sources_.size(); ++i)
        if (!sources_[i].is_lost)
            others_.push_back(
                {sources_[i].weight, arrival(mixed_, i).subspan(static_cast<std::size_t>(first),
                                                                static_cast<std::size_t>(count))});
    return values.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
}

SOTTO_DECL void neighbour_exchange::refuse(std::int64_t first) const {
    std::size_t next = 0;
    for (const link& from : sources_) {
        if (from.is_lost) continue;
        const std::int64_t at = kernels::first_non_finite(others_[next++].values);
        if (at >= 0) refuse_mixing(from.rank, "element " + std::to_string(first + at));
    }
    throw error(errc::non_finite,
                "parameters that were mixed are not finite, near element " + std::to_string(first));
}

SOTTO_DECL bool neighbour_exchange::is_done(link& with, std::optional<request>& what,
                                            std::int64_t expected) {
    if (!what) return true;
    std::optional<completion> ended;
    try {
        ended = through_.poll(*what);
    } catch (const peer_failure& e) {
        what.reset();
        if (e.rank() != with.rank || !tolerates_) throw;
        with.is_lost = true;
        return true;
    }
    if (!ended) return false;
    what.reset();
    if (expected < 0 || ended->bytes == expected) return true;
    throw mismatch("neighbour_exchange: rank " + std::to_string(with.rank) + " sent " +
                   std::to_string(ended->bytes) + " bytes where rank " +
                   std::to_string(through_.rank()) + " expected " + std::to_string(expected) +
                   ": they were started with different numbers of values");
}

}  // namespace sotto::detail::collectives
