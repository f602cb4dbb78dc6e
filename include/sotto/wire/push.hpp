#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "sotto/core/bytes.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/result.hpp"
#include "sotto/wire/little_endian.hpp"

namespace sotto::wire {

/// What a worker tells a server: that it begins, a gradient, or that it is done.
enum class push_kind : std::uint32_t { attach, gradient, done };

struct push_header {
    push_kind kind = push_kind::gradient;
    std::uint32_t tensors = 0;  // of the server's range; their messages follow. 0 unless a gradient
    std::uint64_t round = 0;    // rounds of the worker before this one
    std::uint64_t read = 0;     // version of the parameters that the gradient was computed at
    double epoch = 0.0;         // passes over the data of the worker
};

inline constexpr std::size_t push_header_bytes = 32;

/// What a server tells a worker: its parameters, or those that have changed since the version that
/// the worker has read.
enum class parameters_kind : std::uint32_t { whole, changed };

struct parameters_header {
    parameters_kind kind = parameters_kind::whole;
    bool taken = true;            // whether the gradient before had a part in them
    std::uint64_t version = 0;    // steps of the server
    std::uint64_t staleness = 0;  // of that gradient
    std::uint64_t size = 0;       // bytes of the message that follows
};

inline constexpr std::size_t parameters_header_bytes = 64;

inline namespace SOTTO_UNIT {

/// Bytes before the messages of so many tensors.
constexpr std::size_t push_head_bytes(std::size_t tensors) noexcept {
    return push_header_bytes + 8 * tensors;
}

/// Writes a header, and after it the sizes of the tensors' messages, to memory of push_head_bytes.
///   wire    | bytes | content, little endian                                 |
///           | 4     | 0 begins, 1 a gradient, 2 is done                      |
///           | 4     | t, tensors                                             |
///           | 8     | rounds of the worker before this one                   |
///           | 8     | version of the parameters that it was computed at      |
///           | 8     | passes over the data of the worker, a double           |
///           | 8 t   | bytes of each tensor's message, which follow in order  |
inline void write_push_head(const push_header& h, std::span<const std::uint64_t> sizes,
                            std::byte* to) noexcept {
    store_little_endian(to, static_cast<std::uint32_t>(h.kind));
    store_little_endian(to + 4, static_cast<std::uint32_t>(sizes.size()));
    store_little_endian(to + 8, h.round);
    store_little_endian(to + 16, h.read);
    store_little_endian(to + 24, std::bit_cast<std::uint64_t>(h.epoch));
    store_little_endian(to + push_header_bytes, sizes);
}

/// A push for a server of so many tensors; `messages` gets as many views into `in`.
///   errors  refuses any other number of tensors, sizes that do not add up to the rest, and bytes
///           that are not as above
inline result<push_header> read_push(byte_view in, std::span<byte_view> messages) noexcept {
    const auto refused = [](std::size_t at, const char* expected, std::uint64_t found,
                            std::int64_t count = -1) {
        return fault{static_cast<std::int64_t>(at), expected, static_cast<std::int64_t>(found),
                     count};
    };
    if (in.size() < push_header_bytes)
        return refused(0, "bytes of a push's header", in.size(), push_header_bytes);
    const auto kind = load_little_endian<std::uint32_t>(in.data());
    if (kind > 2) return refused(0, "0, 1 or 2 for begins, a gradient, is done", kind);
    push_header h{
        .kind = static_cast<push_kind>(kind),
        .tensors = load_little_endian<std::uint32_t>(in.data() + 4),
        .round = load_little_endian<std::uint64_t>(in.data() + 8),
        .read = load_little_endian<std::uint64_t>(in.data() + 16),
        .epoch = std::bit_cast<double>(load_little_endian<std::uint64_t>(in.data() + 24))};
    if (!(h.epoch >= 0.0) || !std::isfinite(h.epoch))
        return refused(24, "a number of passes, at least 0", std::bit_cast<std::uint64_t>(h.epoch));
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

/// Writes a header to 64 bytes.
///   wire    | bytes | content, little endian                                          |
///           | 4     | 0 all parameters of the server, 1 those that have changed       |
///           | 4     | 1 if the worker's last gradient had a part in them, else 0      |
///           | 8     | version                                                         |
///           | 8     | staleness of that gradient                                      |
///           | 8     | bytes of the message that follows                               |
///           | 32    | zeros                                                           |
inline void write_parameters_header(const parameters_header& h, std::byte* to) noexcept {
    store_little_endian(to, static_cast<std::uint32_t>(h.kind));
    store_little_endian(to + 4, static_cast<std::uint32_t>(h.taken ? 1 : 0));
    store_little_endian(to + 8, h.version);
    store_little_endian(to + 16, h.staleness);
    store_little_endian(to + 24, h.size);
    for (std::size_t at = 32; at < parameters_header_bytes; at += 8)
        store_little_endian(to + at, std::uint64_t{0});
}

///   errors  refuses any other length, and bytes that are not as above
inline result<parameters_header> read_parameters_header(byte_view in) noexcept {
    const auto refused = [](std::size_t at, const char* expected, std::uint64_t found) {
        return fault{static_cast<std::int64_t>(at), expected, static_cast<std::int64_t>(found)};
    };
    if (in.size() != parameters_header_bytes)
        return refused(0, "the 64 bytes of a header", in.size());
    const auto kind = load_little_endian<std::uint32_t>(in.data());
    if (kind > 1) return refused(0, "0 or 1 for all parameters or the changed", kind);
    const auto taken = load_little_endian<std::uint32_t>(in.data() + 4);
    if (taken > 1) return refused(4, "0 or 1 for a gradient that was taken", taken);
    const parameters_header h{.kind = static_cast<parameters_kind>(kind),
                              .taken = taken == 1,
                              .version = load_little_endian<std::uint64_t>(in.data() + 8),
                              .staleness = load_little_endian<std::uint64_t>(in.data() + 16),
                              .size = load_little_endian<std::uint64_t>(in.data() + 24)};
    for (std::size_t at = 32; at < parameters_header_bytes; at += 8)
        if (const auto word = load_little_endian<std::uint64_t>(in.data() + at); word != 0)
            return refused(at, "zeros", word);
    return h;
}

}  // namespace SOTTO_UNIT

}  // namespace sotto::wire
