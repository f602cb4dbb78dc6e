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

/// Kind of a message from a worker to a server.
///   attach    begins; the worker's configuration follows
///   gradient  messages of the server's tensors follow
///   done      ends this `fit`
///   resend    continues at a restarted server, and pushes again what the server has not answered
///   resume    continues later at a restarted server, which had answered everything
enum class push_kind : std::uint32_t { attach, gradient, done, resend, resume };

/// True if a worker continues at a restarted server.
constexpr bool goes_on(push_kind kind) noexcept {
    return kind == push_kind::resend || kind == push_kind::resume;
}

/// True if a worker's configuration follows.
constexpr bool begins(push_kind kind) noexcept {
    return kind == push_kind::attach || goes_on(kind);
}

/// Header of a push.
struct push_header {
    push_kind kind = push_kind::gradient;  // kind of the push
    std::uint32_t tensors = 0;  // number of tensor messages that follow; 0 unless a gradient
    std::uint64_t round = 0;    // rounds of the worker before this one, since its `fit` began;
                                // on continue: the rounds that the server had acknowledged
    std::uint64_t read = 0;     // version of the parameters that the gradient was computed at;
                                // on continue: the last version that it had
    double epoch = 0.0;         // passes over the worker's data
    std::uint64_t clock = 0;    // of the gradient, equal at all servers, above the one before;
                                // on continue: of the last gradient that is not pushed again
};

inline constexpr std::size_t push_header_bytes = 40;  // on the wire

/// Kind of a message from a server to a worker.
///   whole    all parameters of the server follow
///   changed  entries that have changed since the version that the worker has read follow
///   refused  the server refuses the worker; the reason follows, as text
///   not_yet  nothing follows: the server is not ready, and sends another header later
enum class parameters_kind : std::uint32_t { whole, changed, refused, not_yet };

/// Header of an answer.
struct parameters_header {
    parameters_kind kind = parameters_kind::whole;  // kind of what follows
    bool taken = true;            // true if the gradient before had a part in them; in the last
                                  // answer of a `fit`: if any gradient of the `fit` had
    std::uint64_t version = 0;    // number of steps of the server
    std::uint64_t staleness = 0;  // staleness of that gradient
    std::uint64_t size = 0;       // bytes of the message that follows
    std::uint64_t rounds = 0;     // received rounds of the worker since its `fit` began
    std::uint64_t clock = 0;      // lower bound of the worker's clock
};

inline constexpr std::size_t parameters_header_bytes = 64;  // on the wire

/// Largest clock. No job reaches it, and a signed number holds it.
inline constexpr std::uint64_t clock_max = (std::uint64_t{1} << 62) - 1;

/// Most bytes of a configuration that are sent. A digest compares the rest.
inline constexpr std::size_t configuration_bytes_max = 65536;

inline namespace SOTTO_UNIT {

/// Returns the bytes before the messages of `tensors` tensors.
constexpr std::size_t push_head_bytes(std::size_t tensors) noexcept {
    return push_header_bytes + 8 * tensors;
}

/// Writes a header, then the sizes of the tensors' messages, to memory of push_head_bytes.
///   wire    | bytes | content, little endian                                 |
///           | 4     | 0 attach, 1 gradient, 2 done, 3 resend, 4 resume       |
///           | 4     | t, number of tensors                                   |
///           | 8     | rounds of the worker before this one, in this `fit`    |
///           | 8     | version of the parameters that it was computed at      |
///           | 8     | passes over the worker's data, a double                |
///           | 8     | clock                                                  |
///           | 8 t   | bytes of each tensor's message, which follow in order  |
///           If a worker begins or continues, 8 bytes follow the header, the XXH3-64 of its
///           configuration, and then the first 65536 bytes of the configuration
void write_push_head(const push_header& h, std::span<const std::uint64_t> sizes,
                     std::byte* to) noexcept;

/// Reads the header of a push and ignores the rest.
///   errors  refuses bytes that are not as above
result<push_header> read_push_header(byte_view in) noexcept;

/// Reads a push for a server of messages.size() tensors; `messages` receives as many views into
/// `in`.
///   errors  refuses any other number of tensors, sizes that do not add up to the rest, and bytes
///           that are not as above
result<push_header> read_push(byte_view in, std::span<byte_view> messages) noexcept;

/// Configuration of a worker that begins, after its header.
struct configuration_summary {
    std::uint64_t digest = 0;  // of the whole configuration
    std::string_view text;     // first bytes of the configuration

    friend bool operator==(const configuration_summary&, const configuration_summary&) = default;
};

/// Returns the summary of a configuration, which must outlive it.
configuration_summary summary_of(std::string_view configuration) noexcept;

/// Appends the digest and then the text.
void append_configuration(const configuration_summary& of, bytes& out);

/// Returns the configuration in a push of a worker that begins.
configuration_summary configuration_of(byte_view push) noexcept;

/// Writes a header to 64 bytes.
///   wire    | bytes | content, little endian                                          |
///           | 4     | 0 all parameters of the server, 1 the changed entries,          |
///           |       | 2 why the worker is refused, 3 nothing: the server is not ready |
///           |       | yet, and another header follows                                 |
///           | 4     | 1 if the worker's last gradient had a part in them, else 0; at  |
///           |       | the end of a `fit` 1 if any gradient of any worker had          |
///           | 8     | version                                                         |
///           | 8     | staleness of that gradient                                      |
///           | 8     | bytes of the message that follows                               |
///           | 8     | received rounds of the worker, in this `fit`                    |
///           | 8     | lower bound of the worker's clock                               |
///           | 16    | zeros                                                           |
void write_parameters_header(const parameters_header& h, std::byte* to) noexcept;

///   errors  refuses any other length, and bytes that are not as above
result<parameters_header> read_parameters_header(byte_view in) noexcept;

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::wire

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/wire/detail/protocols/push.ipp"
#endif
