#pragma once

#include "sotto/wire/detail/protocols/push.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "sotto/core/bytes.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/detail/memory/finite.hpp"
#include "sotto/core/result.hpp"
#include "sotto/wire/detail/coding/little_endian.hpp"
#include "sotto/wire/detail/protocols/frame.hpp"

namespace sotto::detail::wire {

inline namespace SOTTO_UNIT {

SOTTO_DECL void write_push_head(const push_header& h, std::span<const std::uint64_t> sizes,
                                std::byte* to) noexcept {
    store_little_endian(to, static_cast<std::uint32_t>(h.kind));
    store_little_endian(to + 4, static_cast<std::uint32_t>(sizes.size()));
    store_little_endian(to + 8, h.round);
    store_little_endian(to + 16, h.read);
    store_little_endian(to + 24, std::bit_cast<std::uint64_t>(h.epoch));
    store_little_endian(to + 32, h.clock);
    store_little_endian(to + push_header_bytes, sizes);
}

SOTTO_DECL result<push_header> read_push_header(byte_view in) noexcept {
    const auto refused = [](std::int64_t at, const char* expected, std::uint64_t found,
                            std::int64_t count = -1) {
        return fault{at, expected, static_cast<std::int64_t>(found), count};
    };
    if (in.size() < push_header_bytes)
        return refused(0, "bytes of a push's header", in.size(), push_header_bytes);
    const auto kind = load_little_endian<std::uint32_t>(in.data());
    if (kind > 4) return refused(0, "0 to 4 for begins, a gradient, is done, goes on", kind);
    const push_header h{
        .kind = static_cast<push_kind>(kind),
        .tensors = load_little_endian<std::uint32_t>(in.data() + 4),
        .round = load_little_endian<std::uint64_t>(in.data() + 8),
        .read = load_little_endian<std::uint64_t>(in.data() + 16),
        .epoch = std::bit_cast<double>(load_little_endian<std::uint64_t>(in.data() + 24)),
        .clock = load_little_endian<std::uint64_t>(in.data() + 32)};
    if (!is_finite(h.epoch) || h.epoch < 0.0)
        return refused(24, "a number of passes, at least 0", std::bit_cast<std::uint64_t>(h.epoch));
    if (h.clock > clock_max) return refused(32, "a clock below 2^62", h.clock);
    return h;
}

SOTTO_DECL result<push_header> read_push(byte_view in, std::span<byte_view> messages) noexcept {
    const auto refused = [](std::size_t at, const char* expected, std::uint64_t found,
                            std::int64_t count = -1) {
        return fault{static_cast<std::int64_t>(at), expected, static_cast<std::int64_t>(found),
                     count};
    };
    const result<push_header> head = read_push_header(in);
    if (!head) return head;
    const push_header& h = *head;
    if (begins(h.kind)) {
        if (h.tensors != 0) return refused(4, "0 tensors", h.tensors);
        const std::size_t rest = in.size() - push_header_bytes;
        if (rest < 8 || rest - 8 > configuration_bytes_max)
            return refused(push_header_bytes, "bytes of a configuration, 8 to 65544", rest);
        return h;
    }
    const std::size_t expected = h.kind == push_kind::gradient ? messages.size() : 0;
    if (h.tensors != expected)
        return refused(4, "tensors of this server", h.tensors, static_cast<std::int64_t>(expected));
    if (in.size() < push_head_bytes(expected))
        return refused(push_header_bytes, "sizes of the tensors' messages", in.size(),
                       static_cast<std::int64_t>(expected));
    byte_view rest = in.subspan(push_head_bytes(expected));
    for (std::size_t t = 0; t < expected; ++t) {
        const std::size_t at = push_header_bytes + 8 * t;
        const auto size = load_little_endian<std::uint64_t>(in.data() + at);
        if (size > rest.size()) return refused(at, "a size within the push", size);
        messages[t] = rest.first(static_cast<std::size_t>(size));
        rest = rest.subspan(static_cast<std::size_t>(size));
    }
    if (!rest.empty()) return refused(in.size() - rest.size(), "the end", rest.size());
    return h;
}

SOTTO_DECL configuration_summary summary_of(std::string_view configuration) noexcept {
    return {frame_digest(std::as_bytes(std::span(configuration)), 0),
            configuration.substr(0, configuration_bytes_max)};
}

SOTTO_DECL void append_configuration(const configuration_summary& of, bytes& out) {
    const std::size_t at = out.size();
    out.resize(at + 8);
    store_little_endian(out.data() + at, of.digest);
    const byte_view text = std::as_bytes(std::span(of.text));
    out.insert(out.end(), text.begin(), text.end());
}

SOTTO_DECL configuration_summary configuration_of(byte_view push) noexcept {
    const byte_view text = push.subspan(push_header_bytes + 8);
    return {load_little_endian<std::uint64_t>(push.data() + push_header_bytes),
            {reinterpret_cast<const char*>(text.data()), text.size()}};
}

SOTTO_DECL void write_parameters_header(const parameters_header& h, std::byte* to) noexcept {
    store_little_endian(to, static_cast<std::uint32_t>(h.kind));
    store_little_endian(to + 4, static_cast<std::uint32_t>(h.taken ? 1 : 0));
    store_little_endian(to + 8, h.version);
    store_little_endian(to + 16, h.staleness);
    store_little_endian(to + 24, h.size);
    store_little_endian(to + 32, h.rounds);
    store_little_endian(to + 40, h.clock);
    for (std::size_t at = 48; at < parameters_header_bytes; at += 8)
        store_little_endian(to + at, std::uint64_t{0});
}

SOTTO_DECL result<parameters_header> read_parameters_header(byte_view in) noexcept {
    const auto refused = [](std::size_t at, const char* expected, std::uint64_t found) {
        return fault{static_cast<std::int64_t>(at), expected, static_cast<std::int64_t>(found)};
    };
    if (in.size() != parameters_header_bytes)
        return refused(0, "the 64 bytes of a header", in.size());
    const auto kind = load_little_endian<std::uint32_t>(in.data());
    if (kind > 3) return refused(0, "0 to 3 for all parameters, the changed, refused, later", kind);
    const auto taken = load_little_endian<std::uint32_t>(in.data() + 4);
    if (taken > 1) return refused(4, "0 or 1 for a gradient that was taken", taken);
    const parameters_header h{.kind = static_cast<parameters_kind>(kind),
                              .taken = taken == 1,
                              .version = load_little_endian<std::uint64_t>(in.data() + 8),
                              .staleness = load_little_endian<std::uint64_t>(in.data() + 16),
                              .size = load_little_endian<std::uint64_t>(in.data() + 24),
                              .rounds = load_little_endian<std::uint64_t>(in.data() + 32),
                              .clock = load_little_endian<std::uint64_t>(in.data() + 40)};
    if (h.clock > clock_max) return refused(40, "a clock below 2^62", h.clock);
    for (std::size_t at = 48; at < parameters_header_bytes; at += 8)
        if (const auto word = load_little_endian<std::uint64_t>(in.data() + at); word != 0)
            return refused(at, "zeros", word);
    return h;
}

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::wire
