#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sotto/collectives/all_gather_v.hpp"
#include "sotto/collectives/all_gather_values.hpp"
#include "sotto/collectives/operation.hpp"
#include "sotto/core/difference.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/transports/transport.hpp"

namespace sotto {

/// Throws mismatch, the same on every rank, unless every rank passes the same text: lines of "name
/// = value".
///   errors  mismatch: a text that differs, or is longer than 1 MiB: no peer makes this rank take
///           more memory than that for each rank
template <transport Transport>
void require_agreement(Transport& through, const std::string& text) {
    std::vector<std::uint64_t> sizes(static_cast<std::size_t>(through.size()));
    through.at({.phase = "comparing configurations"});
    collectives::all_gather_values(through, std::uint64_t{text.size()}, std::span(sizes),
                                   {channels::set_up, 0, 0});
    constexpr std::uint64_t size_max = std::uint64_t{1} << 20;
    const auto longest = std::max_element(sizes.begin(), sizes.end());
    if (*longest > size_max) {
        through.agree(true);  // as below
        throw mismatch("the configuration of rank " + std::to_string(longest - sizes.begin()) +
                       " has " + std::to_string(*longest) + " bytes; at most " +
                       std::to_string(size_max) + " are possible");
    }
    collectives::all_gather_v<Transport> texts(through, static_cast<std::int64_t>(*longest));
    texts.start(std::as_bytes(std::span(text)), {channels::set_up, 1, 0});
    collectives::run(through, texts);
    const auto text_of = [&](int rank) {
        const byte_view block = texts.block_of(rank);
        return std::string_view(reinterpret_cast<const char*>(block.data()), block.size());
    };
    std::string found;
    for (int rank = 1; rank < through.size() && found.empty(); ++rank)
        found = detail::difference(rank, text_of(rank), 0, text_of(0));
    through.agree(true);  // everybody has compared before anybody throws
    if (!found.empty()) throw mismatch("the ranks are configured differently: " + found);
}

}  // namespace sotto
