#pragma once

#include "sotto/trainer/detail/agreement.hpp"

#include <algorithm>

#include "sotto/collectives/detail/all_gather_v.hpp"
#include "sotto/collectives/detail/all_gather_values.hpp"
#include "sotto/collectives/detail/operation.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/detail/memory/difference.hpp"
#include "sotto/core/errors.hpp"

namespace sotto::detail {

SOTTO_DECL bool all_equal(std::span<const text_card> cards) noexcept {
    return std::ranges::all_of(cards, [&](const text_card& c) { return c == cards.front(); });
}

SOTTO_DECL std::vector<text_card> cards_of(transport_ref through, std::string_view text,
                                           std::uint64_t number) {
    std::vector<text_card> cards(static_cast<std::size_t>(through.size()));
    collectives::all_gather_values(through, text_card(text), std::span(cards),
                                   {channels::set_up, 0, number});
    return cards;
}

SOTTO_DECL std::string difference_within(transport_ref through, std::string_view text,
                                         std::size_t begin, std::size_t bytes) {
    // Extends the part to whole lines, up to line_max bytes on each side.
    constexpr std::size_t line_max = 4096;
    const std::size_t line = begin == 0 ? text.npos : text.rfind('\n', begin - 1);
    const std::size_t start = line != text.npos && begin - line <= line_max ? line + 1 : begin;
    const std::string_view part = text.substr(start, begin - start + bytes + line_max);
    collectives::all_gather_v parts(through, static_cast<std::int64_t>(bytes + 2 * line_max));
    parts.start(std::as_bytes(std::span(part)), {channels::set_up, 1, 0});
    collectives::run(through, parts);
    const auto part_of = [&](int rank) {
        const byte_view block = parts.block_of(rank);
        return std::string_view(reinterpret_cast<const char*>(block.data()), block.size());
    };
    std::string found;
    for (int rank = 1; rank < through.size() && found.empty(); ++rank)
        found = difference(rank, part_of(rank), 0, part_of(0));
    return found;
}

SOTTO_DECL void require_agreement(transport_ref through, const std::string& text) {
    constexpr std::uint64_t size_max = std::uint64_t{1} << 24;
    constexpr std::size_t piece = std::size_t{1} << 19;
    through.at({.phase = "comparing configurations"});
    const auto cards = detail::cards_of(through, text, 0);
    const auto longest = std::ranges::max_element(cards, {}, &detail::text_card::size);
    if (longest->size > size_max) {
        through.agree(true);  // see the end of this function
        throw mismatch("the configuration of rank " + std::to_string(longest - cards.begin()) +
                       " has " + std::to_string(longest->size) + " bytes; at most " +
                       std::to_string(size_max) + " are possible");
    }
    std::string found;
    std::uint64_t number = 0;
    for (std::size_t begin = 0; !detail::all_equal(cards) && begin < longest->size;
         begin += piece) {
        const auto rest = std::string_view(text).substr((std::min)(begin, text.size()));
        if (detail::all_equal(detail::cards_of(through, rest.substr(0, piece), ++number))) continue;
        found = detail::difference_within(through, text, begin, piece);
        break;
    }
    through.agree(true);  // every rank has compared before any rank throws
    if (!found.empty()) throw mismatch("the ranks are configured differently: " + found);
}

}  // namespace sotto::detail
