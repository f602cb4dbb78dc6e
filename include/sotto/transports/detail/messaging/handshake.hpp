#pragma once

#include <cstdint>
#include <string>

#include "sotto/transports/tcp_options.hpp"
#include "sotto/wire/detail/protocols/hello.hpp"
#include "sotto/wire/detail/protocols/rendezvous_message.hpp"

namespace sotto::detail::net {

/// Texts that all ranks must have alike are compared by these.
std::uint64_t digest_of(const std::string& text) noexcept;

/// What a rank with these options says of itself, but for its purpose, incarnation and place.
wire::hello hello_of(const tcp_options& options);

/// The answer to what another rank says of itself, by what this one would say: whether both are of
/// one job and configured alike.
wire::rendezvous_message judge(const wire::hello& theirs, const wire::hello& ours) noexcept;

/// Why a rank was refused, as one sentence of both sides.
std::string reason(const wire::rendezvous_message& refusal, int rank, const std::string& job);

/// Whether an answer to a hello is rank `peer`'s, of the process that is known already unless that
/// is 0; `where` it came from.
///   errors  mismatch: it is not
void require_welcome(const wire::rendezvous_message& said, int peer, std::uint64_t known,
                     const std::string& where);

/// Throws what a refusal means to the rank that was refused.
///   errors  mismatch: configured differently, or a rank that there is already; peer_failure: a
///           rank was lost meanwhile; error (timed_out): some never came
[[noreturn]] void raise(const wire::rendezvous_message& refusal, int rank, const std::string& job);

}  // namespace sotto::detail::net

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/detail/messaging/handshake.ipp"
#endif
