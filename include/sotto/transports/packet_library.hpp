#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "sotto/core/bytes.hpp"
#include "sotto/core/clock.hpp"
#include "sotto/transports/transport.hpp"

namespace sotto::detail::net {

/// What packets between two ranks are about. Packets of one kind do not wait for those of the
/// other.
enum class packet_kind : std::uint8_t { messages, membership };

inline constexpr packet_kind packet_kinds[] = {packet_kind::messages, packet_kind::membership};

/// A rank whose connections have ended, and how.
struct packet_loss {
    int peer = 0;
    std::string how;
};

/// A library that carries packets between the ranks of a job, each whole, in the order in which
/// they were sent, and never blocks: what moves them is being called. Memory that was lent to it
/// cannot be taken back: it stays lent until the operation is complete. Errors are exceptions.
///   packet              that came and was not received yet: its `source` and its `size`
///   packet_bytes_max()  of the longest packet
///   may_lack_content    whether it carries messages from `size_only`
///   copies              whether `out` is free again when send returns
///   drains              whether all that was sent must be received before ranks end
///   send(to, kind, out)     starts; `out` is unchanged until it is complete. Nothing of it need
///                           move before the receiver calls the library
///   next(kind)          the next packet of this kind from whoever; it must be received, or
///                       forgotten by `forget(packet)` if the library has that
///   receive(packet, in)     starts; `in` has just its size
///   complete(operation)     whether it is, without blocking; then it is spent
///   advance()           moves on what else the library does; whether any of it has completed
///   busy()              whether any of it is under way
///   now()               its clock
///   charge(w)           computing that was done, or on a simulated network is to be
///   asked_in_vain()     something is not complete: time in which it may become so
///   pause(waited, moves, until)     a short while, since something is awaited, for `waited` so
///                       far; `moves`: bytes are on their way
///   next_loss()         a rank whose connections have ended, and how
///   next_arrival()      a rank that another process is now: what comes of that one is there once
///                       this is called again
///   served_by(f)        f is to be called while the rank computes or waits, now and then and when
///                       there is something about the membership, and says whether who waits is
///                       to look; an empty one: no more. Some cannot
///   require_caller()    throws unless the calling thread may call the library
///   end_job(why)        does not return: ends all ranks, and tells people why
template <class L>
concept packet_library = requires(L& l, const L& c, int to, packet_kind kind, byte_view out,
                                  mutable_byte_view in, typename L::operation& in_flight,
                                  const typename L::packet& came, std::string_view why, work amount,
                                  duration waited, bool moves, time_point until,
                                  std::function<bool()> serve) {
    { L::name } -> std::convertible_to<const char*>;
    { L::drains } -> std::convertible_to<bool>;
    { L::may_lack_content } -> std::convertible_to<bool>;
    { L::copies } -> std::convertible_to<bool>;
    { c.packet_bytes_max() } -> std::same_as<std::size_t>;
    { c.rank() } -> std::same_as<int>;
    { c.size() } -> std::same_as<int>;
    { came.source } -> std::convertible_to<int>;
    { came.size } -> std::convertible_to<std::size_t>;
    { l.send(to, kind, out) } -> std::same_as<typename L::operation>;
    { l.next(kind) } -> std::same_as<std::optional<typename L::packet>>;
    { l.receive(came, in) } -> std::same_as<typename L::operation>;
    { l.complete(in_flight) } -> std::same_as<bool>;
    { l.advance() } -> std::same_as<bool>;
    { c.busy() } -> std::same_as<bool>;
    c.require_caller();
    { c.now() } -> std::same_as<time_point>;
    l.charge(amount);
    l.asked_in_vain();
    l.pause(waited, moves, until);
    { l.next_loss() } -> std::same_as<std::optional<packet_loss>>;
    { l.next_arrival() } -> std::same_as<std::optional<int>>;
    l.served_by(serve);
    { l.end_job(why) }
    noexcept;
};

/// How real time is waited in: not for long where bytes move only while somebody calls. For a
/// short time if at all, and if bytes are on their way, only once they seem to wait for another
/// rank themselves.
void pause_in_real_time(duration waited, bool moves);

}  // namespace sotto::detail::net

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/packet_library.ipp"
#endif
