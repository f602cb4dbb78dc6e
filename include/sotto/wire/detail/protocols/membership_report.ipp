#pragma once

#include "sotto/wire/detail/protocols/membership_report.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sotto/core/bytes.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/result.hpp"
#include "sotto/wire/detail/coding/little_endian.hpp"

namespace sotto::detail::wire {

inline namespace SOTTO_UNIT {

SOTTO_DECL void append_report(const membership_report& report, bytes& out) {
    const std::string_view cause = std::string_view(report.cause).substr(0, report_cause_max);
    const std::size_t polls = (std::min)(report.polls.size(), report_polls_max);
    std::size_t at = out.size();
    out.resize(at + 20 + cause.size() + 4 * report.failed.size() + 17 * polls);
    const auto put = [&]<class Word>(Word word) {
        store_little_endian(out.data() + at, word);
        at += sizeof(Word);
    };
    put(report.first);
    put(std::uint32_t{report.code});
    put(static_cast<std::uint32_t>(cause.size()));
    put(static_cast<std::uint32_t>(report.failed.size()));
    put(static_cast<std::uint32_t>(polls));
    for (const char c : cause) out[at++] = static_cast<std::byte>(c);
    for (const std::uint32_t rank : report.failed) put(rank);
    for (std::size_t i = 0; i < polls; ++i) {
        put(report.polls[i].ballot);
        put(report.polls[i].completed);
        put(static_cast<std::uint8_t>(report.polls[i].verdict));
    }
}

SOTTO_DECL result<membership_report> read_report(byte_view in, std::uint32_t world) {
    constexpr std::size_t head = 20;
    if (in.size() < head)
        return fault{static_cast<std::int64_t>(in.size()), "20 bytes of a report", fault::end};
    const auto word = [&](std::size_t at) {
        return load_little_endian<std::uint32_t>(in.data() + at);
    };
    const auto refused = [](std::size_t at, const char* expected, std::uint64_t found) {
        return fault{static_cast<std::int64_t>(at), expected, static_cast<std::int64_t>(found)};
    };
    membership_report report;
    report.first = word(0);
    if (report.first >= world) return refused(0, "a rank of this world", report.first);
    if (word(4) > 255) return refused(4, "an error code below 256", word(4));
    report.code = static_cast<std::uint8_t>(word(4));
    const std::size_t cause = word(8), failed = word(12), polls = word(16);
    if (cause > report_cause_max) return refused(8, "at most 1024 bytes of cause", cause);
    if (failed > world) return refused(12, "at most all ranks that failed", failed);
    if (polls > report_polls_max) return refused(16, "at most 4096 ballots", polls);
    if (in.size() != head + cause + 4 * failed + 17 * polls)
        return refused(head, "as many bytes as the counts say", in.size());
    std::size_t at = head;
    report.cause.assign(reinterpret_cast<const char*>(in.data() + at), cause);
    at += cause;
    bool has_first = false;
    for (std::size_t i = 0; i < failed; ++i, at += 4) {
        const std::uint32_t rank = word(at);
        if (rank >= world || (i > 0 && rank <= report.failed.back()))
            return refused(at, "ranks of this world, ascending", rank);
        report.failed.push_back(rank);
        has_first |= rank == report.first;
    }
    if (failed > 0 && !has_first) return refused(0, "one of the ranks that failed", report.first);
    for (std::size_t i = 0; i < polls; ++i, at += 17) {
        const auto ballot = load_little_endian<std::uint64_t>(in.data() + at);
        if (i > 0 && ballot <= report.polls.back().ballot)
            return refused(at, "ballots, ascending", ballot);
        const auto verdict = std::to_integer<std::uint8_t>(in[at + 16]);
        if (verdict > 1) return refused(at + 16, "a verdict, 0 or 1", verdict);
        report.polls.push_back(
            {ballot, load_little_endian<std::uint64_t>(in.data() + at + 8), verdict == 1});
    }
    return report;
}

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::wire
