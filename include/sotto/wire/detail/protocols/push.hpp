#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "sotto/core/bytes.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/detail/memory/finite.hpp"
#include "sotto/core/result.hpp"
#include "sotto/wire/detail/coding/little_endian.hpp"

namespace sotto::detail::wire {

/// What a worker tells a server: that it begins and how it is configured, a gradient, that it is
/// done; or to a server that is there anew, that it goes on there: pushing again what an earlier
/// process of the server has not answered, or later, since that one has answered all.
///   attach    it begins; its configuration follows
///   gradient  messages of the server's tensors follow
///   done      with this `fit`
///   resend    it goes on, and pushes again what was not answered
///   resume    it goes on, later: all was answered
enum class push_kind : std::uint32_t { attach, gradient, done, resend, resume };

/// Whether a worker goes on at a server that is there anew.
constexpr bool goes_on(push_kind kind) noexcept {
    return kind == push_kind::resend || kind == push_kind::resume;
}

/// Whether a worker's configuration follows.
constexpr bool begins(push_kind kind) noexcept {
    return kind == push_kind::attach || goes_on(kind);
}

/// What stands before a push.
struct push_header {
    push_kind kind = push_kind::gradient;  // what it says
    std::uint32_t tensors = 0;  // of the server's range; their messages follow. 0 unless a gradient
    std::uint64_t round = 0;    // rounds of the worker before this one, since its `fit` began; of
                                // one that begins anew: those that the server had acknowledged
    std::uint64_t read = 0;     // version of the parameters that the gradient was computed at; of
                                // one that begins anew: that it had last
    double epoch = 0.0;         // passes over the data of the worker
    std::uint64_t clock = 0;  // of the gradient, alike at all servers and above the one before; of
                              // one that begins anew: of the last one that it does not push again
};

inline constexpr std::size_t push_header_bytes = 40;  // on the wire

/// What a server tells a worker: its parameters, those that have changed since the version that the
/// worker has read, or why the worker is refused.
///   whole    all of the server's parameters follow
///   changed  entries that have changed follow
///   refused  the reason follows, as text
///   not_yet  nothing follows: the server is not ready, and sends another header later
enum class parameters_kind : std::uint32_t { whole, changed, refused, not_yet };

/// What stands before an answer.
struct parameters_header {
    parameters_kind kind = parameters_kind::whole;  // what follows
    bool taken = true;            // whether the gradient before had a part in them; of the last
                                  // answer of a `fit`: whether any gradient of it had
    std::uint64_t version = 0;    // steps of the server
    std::uint64_t staleness = 0;  // of that gradient
    std::uint64_t size = 0;       // bytes of the message that follows
    std::uint64_t rounds = 0;     // of the worker, that the server has had since its `fit` began
    std::uint64_t clock = 0;      // what the worker's is at least
};

inline constexpr std::size_t parameters_header_bytes = 64;  // on the wire

/// No job lasts so long; so a signed number holds all.
inline constexpr std::uint64_t clock_max = (std::uint64_t{1} << 62) - 1;

/// Bytes of a configuration that travel; of longer ones the rest is compared by a digest.
inline constexpr std::size_t configuration_bytes_max = 65536;

inline namespace SOTTO_UNIT {

/// Bytes before the messages of so many tensors.
constexpr std::size_t push_head_bytes(std::size_t tensors) noexcept {
    return push_header_bytes + 8 * tensors;
}

/// Writes a header, and after it the sizes of the tensors' messages, to memory of push_head_bytes.
///   wire    | bytes | content, little endian                                 |
///           | 4     | 0 begins, 1 a gradient, 2 is done, 3 goes on with what |
///           |       | it had pushed, 4 goes on later                         |
///           | 4     | t, tensors                                             |
///           | 8     | rounds of the worker before this one, in this `fit`    |
///           | 8     | version of the parameters that it was computed at      |
///           | 8     | passes over the data of the worker, a double           |
///           | 8     | clock                                                  |
///           | 8 t   | bytes of each tensor's message, which follow in order  |
///           Behind that of a worker that begins or goes on follow 8 bytes, the XXH3-64 of its
///           configuration, and the first 65536 bytes of that
void write_push_head(const push_header& h, std::span<const std::uint64_t> sizes,
                     std::byte* to) noexcept;

/// What a push begins with, whatever stands behind it.
///   errors  refuses bytes that are not as above
result<push_header> read_push_header(byte_view in) noexcept;

/// A push for a server of so many tensors; `messages` gets as many views into `in`.
///   errors  refuses any other number of tensors, sizes that do not add up to the rest, and bytes
///           that are not as above
result<push_header> read_push(byte_view in, std::span<byte_view> messages) noexcept;

/// How a worker that begins is configured: what stands behind its header.
struct configuration_summary {
    std::uint64_t digest = 0;  // of all of it
    std::string_view text;     // the first of it

    friend bool operator==(const configuration_summary&, const configuration_summary&) = default;
};

/// Of a configuration, which must outlive it.
configuration_summary summary_of(std::string_view configuration) noexcept;

/// Appends the digest and then the text.
void append_configuration(const configuration_summary& of, bytes& out);

/// Of a push that was read, of a worker that begins.
configuration_summary configuration_of(byte_view push) noexcept;

/// Writes a header to 64 bytes.
///   wire    | bytes | content, little endian                                          |
///           | 4     | 0 all parameters of the server, 1 those that have changed,      |
///           |       | 2 why the worker is refused, 3 nothing: the server is not ready |
///           |       | yet, and another header follows                                 |
///           | 4     | 1 if the worker's last gradient had a part in them, else 0; at  |
///           |       | the end of a `fit` 1 if any gradient of any worker had          |
///           | 8     | version                                                         |
///           | 8     | staleness of that gradient                                      |
///           | 8     | bytes of the message that follows                               |
///           | 8     | rounds of the worker that the server has had, in this `fit`     |
///           | 8     | what the worker's clock is at least                             |
///           | 16    | zeros                                                           |
void write_parameters_header(const parameters_header& h, std::byte* to) noexcept;

///   errors  refuses any other length, and bytes that are not as above
result<parameters_header> read_parameters_header(byte_view in) noexcept;

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::wire

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/wire/detail/protocols/push.ipp"
#endif
