#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace sotto::detail::launch {

/// Puts a prefix before every line of a text that arrives in pieces of any size, and passes on only
/// whole lines. So several processes share one output without mixing lines. A line of more than
/// `line_bytes_max` is cut into several.
///   memory  one line
class line_prefixer {
public:
    static constexpr std::size_t line_bytes_max = 1 << 16;  // of a line without its prefix

    /// `prefix` is put before every line.
    explicit line_prefixer(std::string prefix) : prefix_(std::move(prefix)) {}

    /// Appends to `out` the lines that end within this piece.
    void take(std::string_view piece, std::string& out);

    /// Ends the text: appends an unfinished last line and ends it.
    void finish(std::string& out);

private:
    void put(std::string& out);

    std::string prefix_;
    std::string line_;  // unfinished line
};

}  // namespace sotto::detail::launch

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/launch/detail/line_prefixer.ipp"
#endif
