#pragma once

#include "sotto/strategies/detail/parameter_server/arrival.hpp"

#include <charconv>
#include <system_error>

#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL bool arrival::is_gradient() const noexcept {
    return kind == arrival_kind::gradient || kind == arrival_kind::dropped;
}

SOTTO_DECL std::string text_of(const arrival& a) {
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

SOTTO_DECL std::string_view arrival_words::word() noexcept {
    begin_ = at_ + (at_ > 0 ? 1 : 0);
    const std::size_t end = begin_ < text_.size() ? text_.find(' ', begin_) : text_.npos;
    at_ = end == text_.npos ? text_.size() : end;
    return begin_ < text_.size() ? text_.substr(begin_, at_ - begin_) : std::string_view();
}

SOTTO_DECL bool arrival_words::number(std::int64_t& to, std::int64_t most) noexcept {
    const std::string_view digits = word();
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), to);
    return read.ec == std::errc{} && read.ptr == digits.data() + digits.size() &&
           digits[0] != '-' && (digits[0] != '0' || digits.size() == 1) && to <= most;
}

SOTTO_DECL fault arrival_words::refused(const char* expected) const noexcept {
    return {static_cast<std::int64_t>(begin_), expected,
            begin_ < text_.size() ? static_cast<unsigned char>(text_[begin_]) : fault::end};
}

SOTTO_DECL result<arrival> read_arrival(std::string_view line) {
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
