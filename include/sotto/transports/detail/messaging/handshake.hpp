#pragma once

#include <cstdint>
#include <string>

#include "sotto/transports/tcp_options.hpp"
#include "sotto/wire/detail/protocols/hello.hpp"
#include "sotto/wire/detail/protocols/rendezvous_message.hpp"

namespace sotto::detail::net {

/// Digest for comparing texts that must be equal on all ranks.
std::uint64_t digest_of(const std::string& text) noexcept;

/// Hello of a rank with these options, without purpose, incarnation and place.
wire::hello hello_of(const tcp_options& options);

/// Answer to another rank's hello, given this rank's hello: a refusal unless both are of one job
/// and configured alike.
wire::rendezvous_message judge(const wire::hello& theirs, const wire::hello& ours) noexcept;

/// Cause of a refusal, as one sentence with the values of both sides.
std::string reason(const wire::rendezvous_message& refusal, int rank, const std::string& job);

/// Throws unless an answer to a hello is from rank `peer` and, if `known` is not 0, from that
/// process. `where` is the place that answered.
///   errors  mismatch: it is not
void require_welcome(const wire::rendezvous_message& said, int peer, std::uint64_t known,
                     const std::string& where);

/// Throws the error that a refusal means to the refused rank.
///   errors  mismatch: configured differently, or a rank that exists already. peer_failure: a rank
///           was lost during the join. error (timed_out): some ranks did not join
[[noreturn]] void raise(const wire::rendezvous_message& refusal, int rank, const std::string& job);

}  // namespace sotto::detail::net

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/detail/messaging/handshake.ipp"
#endif
