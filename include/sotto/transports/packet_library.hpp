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

/// Kind of a packet between two ranks. Packets of one kind do not wait for packets of the other.
enum class packet_kind : std::uint8_t { messages, membership };

inline constexpr packet_kind packet_kinds[] = {packet_kind::messages, packet_kind::membership};

/// A rank whose connections have ended, and how.
struct packet_loss {
    int peer = 0;
    std::string how;
};

/// A library that carries packets between the ranks of a job. Each packet arrives whole, in the
/// order of sending. No call blocks, and bytes move only during calls. Memory lent to the library
/// stays lent until the operation is complete. Errors are exceptions.
///   packet               an arrived packet: its `source` and its `size`
///   packet_bytes_max()   maximum size of a packet
///   may_lack_content     true if it carries messages from `size_only`
///   copies               true if `out` is free again when send returns
///   drains               true if ranks may end only after all packets were received
///   send(to, kind, out)  starts a send. `out` stays unchanged until it is complete. No byte need
///                        move before the receiver calls the library
///   next(kind)           next packet of this kind from any rank. It must be received, or dropped
///                        by `forget(packet)` if the library has that
///   receive(packet, in)  starts a receive. `in` has exactly the packet's size
///   complete(operation)  true if the operation is complete, without blocking. Then it is spent
///   advance()            advances the library's other operations; true if any of them completed
///   busy()               true if any of them is in flight
///   now()                its clock
///   charge(w)            accounts for computing that was done or, on a simulated network, is to be
///                        simulated
///   asked_in_vain()      an operation is not complete: gives it time to become so
///   pause(waited, moves, until)
///                        waits a short while, after `waited` so far and at most until `until`;
///                        `moves`: bytes are in flight
///   next_loss()          next rank whose connections have ended, and how
///   next_arrival()       next rank that is a new process. Its packets arrive once this is called
///                        again
///   served_by(f)         registers f, which the library calls while the rank computes or waits:
///                        now and then, and for membership packets. If f returns true, the waiting
///                        rank must look. An empty f ends this. Some libraries cannot call f
///   require_caller()     throws unless the calling thread may call the library
///   end_job(why)         does not return: ends all ranks and prints why
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

/// Waits a short while in real time, because bytes may move only during calls. It yields first and
/// sleeps later. While bytes are in flight it sleeps only once they seem to wait for another rank.
void pause_in_real_time(duration waited, bool moves);

}  // namespace sotto::detail::net

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/packet_library.ipp"
#endif
