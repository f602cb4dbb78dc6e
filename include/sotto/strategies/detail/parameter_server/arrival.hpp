#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
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
    bool is_gradient() const noexcept {
        return kind == arrival_kind::gradient || kind == arrival_kind::dropped;
    }
    friend bool operator==(const arrival&, const arrival&) = default;
};

/// As a line, without its end.
///   wire    AT begins|done|went WORKER
///           AT gradient|dropped WORKER ROUND READ VERSION DIGEST, which has 16 hexadecimal digits
///           AT answers [WORKER]...
inline std::string text_of(const arrival& a) {
    std::string out = std::to_string(a.at);
    const auto add = [&out](auto number) { out += ' ' + std::to_string(number); };
    out += ' ';
    out += arrival_names[static_cast<std::size_t>(a.kind)];
    if (a.kind == arrival_kind::answers) {
        for (const int worker : a.answered) add(worker);
        return out;
    }
    add(a.worker);
    if (!a.is_gradient()) return out;
    add(a.round);
    add(a.read);
    add(a.version);
    out += ' ';
    for (int shift = 60; shift >= 0; shift -= 4) out += "0123456789abcdef"[a.digest >> shift & 15];
    return out;
}

/// The words of a line, one by one; single blanks between them.
class arrival_words {
public:
    explicit arrival_words(std::string_view text) : text_(text) {}

    bool over() const noexcept { return at_ >= text_.size(); }
    std::string_view word() noexcept {
        begin_ = at_ + (at_ > 0 ? 1 : 0);
        const std::size_t end = begin_ < text_.size() ? text_.find(' ', begin_) : text_.npos;
        at_ = end == text_.npos ? text_.size() : end;
        return begin_ < text_.size() ? text_.substr(begin_, at_ - begin_) : std::string_view();
    }

    /// A number as std::to_string writes it; false: it is none, or larger than `most`.
    bool number(std::int64_t& to, std::int64_t most) noexcept {
        const std::string_view digits = word();
        const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), to);
        return read.ec == std::errc{} && read.ptr == digits.data() + digits.size() &&
               digits[0] != '-' && (digits[0] != '0' || digits.size() == 1) && to <= most;
    }

    fault refused(const char* expected) const noexcept {
        return {static_cast<std::int64_t>(begin_), expected,
                begin_ < text_.size() ? static_cast<unsigned char>(text_[begin_]) : fault::end};
    }

private:
    std::string_view text_;
    std::size_t at_ = 0, begin_ = 0;
};

/// What text_of wrote, and nothing else.
///   errors  refuses any other text
inline result<arrival> read_arrival(std::string_view line) {
    constexpr std::int64_t most = std::int64_t{1} << 62, workers_max = 1 << 24;
    detail::arrival_words words(line);
    arrival a;
    if (!words.number(a.at, most)) return words.refused("nanoseconds");
    const std::string_view name = words.word();
    std::size_t kind = 0;
    while (kind < arrival_names.size() && arrival_names[kind] != name) ++kind;
    if (kind == arrival_names.size()) return words.refused("a kind of arrival");
    a.kind = static_cast<arrival_kind>(kind);
    std::int64_t worker = 0;
    if (a.kind == arrival_kind::answers) {
        while (!words.over()) {
            if (!words.number(worker, workers_max)) return words.refused("a worker");
            a.answered.push_back(static_cast<int>(worker));
        }
        return a;
    }
    if (!words.number(worker, workers_max)) return words.refused("a worker");
    a.worker = static_cast<int>(worker);
    if (a.is_gradient()) {
        if (!words.number(a.round, most)) return words.refused("a round");
        if (!words.number(a.read, most)) return words.refused("a version that was read");
        if (!words.number(a.version, most)) return words.refused("a version");
        const std::string_view digest = words.word();
        if (digest.size() != 16 ||
            digest.find_first_not_of("0123456789abcdef") != std::string_view::npos)
            return words.refused("16 hexadecimal digits");
        std::from_chars(digest.data(), digest.data() + 16, a.digest, 16);
    }
    if (!words.over()) return (void)words.word(), words.refused("the end");
    return a;
}

}  // namespace sotto::detail
