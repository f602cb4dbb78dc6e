#pragma once

#include "sotto/topologies/edge_list.hpp"

#include <algorithm>
#include <cstddef>
#include <system_error>

#include "sotto/core/bytes.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/detail/files/input_file.hpp"
#include "sotto/core/detail/text/number_text.hpp"
#include "sotto/core/errors.hpp"

namespace sotto::topologies {

SOTTO_DECL std::string edge_list::place_of(const detail::topologies::edge& e) const {
    return "'" + file + "', line " + std::to_string(e.line) + ": ";
}

SOTTO_DECL void edge_list::add(mixing_matrix& to, const detail::topologies::edge& e) const {
    const double weight = e.weight.value_or(1.0);
    try {
        directed ? to.link(e.to, e.from, weight) : to.link_both(e.from, e.to, weight);
    } catch (const invalid_option& wrong) {
        if (e.line == 0) throw;
        throw invalid_option(place_of(e) + wrong.what());
    }
}

SOTTO_DECL bool edge_list::weighted() const {
    std::size_t count = 0;
    const detail::topologies::edge* without = nullptr;  // first edge without a weight
    for (const detail::topologies::edge& e : edges)
        if (e.weight)
            ++count;
        else if (!without)
            without = &e;
    if (count == 0 || !without) return count != 0;
    throw invalid_option(
        (without->line == 0 ? "topologies::edge_list: " : place_of(*without) + "no weight, but ") +
        std::to_string(count) + " of " + std::to_string(edges.size()) +
        " links have a weight; give it to all of them or to none");
}

}  // namespace sotto::topologies

namespace sotto::detail::topologies {

SOTTO_DECL std::vector<std::string_view> words_of(std::string_view line) {
    line = line.substr(0, line.find('#'));
    std::vector<std::string_view> words;
    constexpr std::string_view blanks = " \t\r,";
    for (std::size_t at = line.find_first_not_of(blanks); at != line.npos;) {
        const std::size_t end = (std::min)(line.find_first_of(blanks, at), line.size());
        words.push_back(line.substr(at, end - at));
        at = line.find_first_not_of(blanks, end);
    }
    return words;
}

}  // namespace sotto::detail::topologies

namespace sotto::topologies {

SOTTO_DECL edge_list read_edge_list(const std::string& file, bool directed) {
    std::error_code why;
    const bytes content = sotto::detail::read_regular(file, why);
    if (why) throw io_failure("cannot read '" + file + "', a list of links: " + why.message());
    edge_list read{.directed = directed, .file = file};
    std::string_view rest(reinterpret_cast<const char*>(content.data()), content.size());
    for (std::int64_t number = 1; !rest.empty(); ++number) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix((std::min)(line.size() + 1, rest.size()));
        const auto words = detail::topologies::words_of(line);
        if (words.empty()) continue;
        detail::topologies::edge e{.line = number};
        double weight = 0.0;
        const bool whole = words.size() <= 3 && words.size() >= 2 &&
                           detail::read_number(words[0], e.from) &&
                           detail::read_number(words[1], e.to) &&
                           (words.size() == 2 || detail::read_number(words[2], weight));
        if (!whole)
            throw error(errc::malformed, "'" + file + "', line " + std::to_string(number) +
                                             ": expected two ranks and perhaps a weight, found '" +
                                             std::string(line) + "'");
        if (words.size() == 3) e.weight = weight;
        read.edges.push_back(e);
    }
    return read;
}

}  // namespace sotto::topologies
