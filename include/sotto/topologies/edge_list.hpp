#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "sotto/core/bytes.hpp"
#include "sotto/core/describe.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/detail/files/input_file.hpp"
#include "sotto/topologies/mixing_matrix.hpp"
#include "sotto/topologies/topology.hpp"

namespace sotto::detail::topologies {

/// A link between two ranks.
struct edge {
    int from = 0;                    // a rank
    int to = 0;                      // another one
    std::optional<double> weight{};  // of all of them or of none
    std::int64_t line = 0;           // of the file that it was read from, for errors
};

}  // namespace sotto::detail::topologies

namespace sotto::topologies {

/// A graph of the user's own.
///   math    without weights: by degree, or, of links that go one way, 1 / (1 + links out of their
///           rank), as push-sum wants them. With weights these, and what they leave of 1 is the
///           rank's own. Each link goes both ways unless `directed`
///   shape   the same link twice counts once where there are no weights, and adds up where there
///           are
///   errors  invalid_option, naming the line of the file that a link was read from: a rank that is
///           none; a weight below 0 or not finite; weights of some links and not of others. A
///           matrix is refused where it is used, see mixing_matrix
struct edge_list {
    std::vector<detail::topologies::edge> edges{};  // in any order
    bool directed = false;                          // whether links go only from `from` to `to`
    std::string file{};                             // that they were read from, for errors and logs

    /// Of the file, if it is known.
    std::string name() const { return file.empty() ? "edge_list" : file; }

    auto bind(int size) const {
        const bool has_weights = weighted();
        mixing_matrix graph(size);  // without weights, of links that count for one
        for (const detail::topologies::edge& e : edges) add(graph, e);
        if (has_weights) return topologies::repeated(std::move(graph));
        if (!directed) {
            std::vector<std::pair<int, int>> pairs;
            for (const detail::topologies::edge& e : edges) pairs.emplace_back(e.from, e.to);
            return topologies::repeated(by_degree(size, pairs));
        }
        mixing_matrix matrix(size);
        for (int rank = 0; rank < size; ++rank)
            for (const detail::topologies::neighbour& n : graph.out_of(rank))
                matrix.link(n.rank, rank,
                            1.0 / (1.0 + static_cast<double>(graph.out_of(rank).size())));
        return topologies::repeated(std::move(matrix));
    }

    void describe(auto&& field) const {
        field("directed", directed);
        std::string text;
        for (const detail::topologies::edge& e : edges) {
            text +=
                (text.empty() ? "" : ", ") + std::to_string(e.from) + "-" + std::to_string(e.to);
            if (e.weight) sotto::detail::append_number(text += " ", *e.weight);
        }
        field("edges", text);
    }

private:
    std::string place_of(const detail::topologies::edge& e) const {
        return "'" + file + "', line " + std::to_string(e.line) + ": ";
    }

    void add(mixing_matrix& to, const detail::topologies::edge& e) const {
        const double weight = e.weight.value_or(1.0);
        try {
            directed ? to.link(e.to, e.from, weight) : to.link_both(e.from, e.to, weight);
        } catch (const invalid_option& wrong) {
            if (e.line == 0) throw;
            throw invalid_option(place_of(e) + wrong.what());
        }
    }

    bool weighted() const {
        std::size_t count = 0;
        const detail::topologies::edge* without = nullptr;  // the first one
        for (const detail::topologies::edge& e : edges)
            if (e.weight)
                ++count;
            else if (!without)
                without = &e;
        if (count == 0 || !without) return count != 0;
        throw invalid_option((without->line == 0 ? "topologies::edge_list: "
                                                 : place_of(*without) + "no weight, but ") +
                             std::to_string(count) + " of " + std::to_string(edges.size()) +
                             " links have a weight; give it to all of them or to none");
    }
};

}  // namespace sotto::topologies

namespace sotto::detail::topologies {

/// The words of a line, up to a '#'.
inline std::vector<std::string_view> words_of(std::string_view line) {
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

template <class Number>
bool read_number(std::string_view word, Number& to) {
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), to);
    return error == std::errc() && end == word.data() + word.size();
}

}  // namespace sotto::detail::topologies

namespace sotto::topologies {

/// Reads a graph: a line for each link, two ranks and perhaps its weight, blanks or commas between;
/// what follows a '#' is not read.
///   errors  io_failure: it is no regular file or cannot be read; malformed, naming the line
inline edge_list read_edge_list(const std::filesystem::path& file, bool directed = false) {
    std::error_code why;
    const bytes content = sotto::detail::read_regular(file, why);
    if (why)
        throw io_failure("cannot read '" + file.string() + "', a list of links: " + why.message());
    edge_list read{.directed = directed, .file = file.string()};
    std::string_view rest(reinterpret_cast<const char*>(content.data()), content.size());
    for (std::int64_t number = 1; !rest.empty(); ++number) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix((std::min)(line.size() + 1, rest.size()));
        const auto words = detail::topologies::words_of(line);
        if (words.empty()) continue;
        detail::topologies::edge e{.line = number};
        double weight = 0.0;
        const bool whole = words.size() <= 3 && words.size() >= 2 &&
                           detail::topologies::read_number(words[0], e.from) &&
                           detail::topologies::read_number(words[1], e.to) &&
                           (words.size() == 2 || detail::topologies::read_number(words[2], weight));
        if (!whole)
            throw error(errc::malformed, "'" + file.string() + "', line " + std::to_string(number) +
                                             ": expected two ranks and perhaps a weight, found '" +
                                             std::string(line) + "'");
        if (words.size() == 3) e.weight = weight;
        read.edges.push_back(e);
    }
    return read;
}

}  // namespace sotto::topologies
