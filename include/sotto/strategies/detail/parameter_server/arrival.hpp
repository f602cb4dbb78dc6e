#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sotto/core/result.hpp"

namespace sotto::detail {

/// What a server is told or does that decides what comes of it.
///   begins    a worker begins
///   gradient  a gradient was taken
///   dropped   a gradient came too late and was not
///   done      a worker has done all its rounds
///   went      a worker is gone
///   answers   the server has looked who may have parameters
enum class arrival_kind : std::uint8_t { begins, gradient, dropped, done, went, answers };

/// What logs call them, in the order of arrival_kind.
inline constexpr std::array<std::string_view, 6> arrival_names{"begins", "gradient", "dropped",
                                                               "done",   "went",     "answers"};

/// One of them. `worker` is what it came from; `answers` is that the server has looked who may have
/// parameters, and gave them to those.
struct arrival {
    arrival_kind kind = arrival_kind::gradient;  // what it was
    std::int64_t at = 0;                         // nanoseconds since the first
    int worker = 0;                              // from 0 on
    // Of a gradient, also one that was dropped:
    std::int64_t round = 0;  // of the worker
    std::int64_t read = 0;   // version that it was computed at
    std::int64_t version =
        0;  // of the server after it: that it led to, unless a round is collected
    std::uint64_t digest = 0;     // of its bytes
    std::vector<int> answered{};  // workers that were given parameters

    /// Whether a gradient came, taken or not.
    bool is_gradient() const noexcept;
    friend bool operator==(const arrival&, const arrival&) = default;
};

/// As a line, without its end.
///   wire    AT begins|done|went WORKER
///           AT gradient|dropped WORKER ROUND READ VERSION DIGEST, which has 16 hexadecimal digits
///           AT answers [WORKER]...
std::string text_of(const arrival& a);

/// The words of a line, one by one; single blanks between them.
class arrival_words {
public:
    explicit arrival_words(std::string_view text) : text_(text) {}

    bool over() const noexcept { return at_ >= text_.size(); }
    std::string_view word() noexcept;

    /// A number as std::to_string writes it; false: it is none, or larger than `most`.
    bool number(std::int64_t& to, std::int64_t most) noexcept;

    fault refused(const char* expected) const noexcept;

private:
    std::string_view text_;
    std::size_t at_ = 0, begin_ = 0;
};

/// What text_of wrote, and nothing else.
///   errors  refuses any other text
result<arrival> read_arrival(std::string_view line);

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/detail/parameter_server/arrival.ipp"
#endif
