#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "sotto/core/bytes.hpp"

namespace sotto::detail::net {

/// What packets between two ranks are about. Packets of one kind do not wait for those of the
/// other.
enum class packet_kind : std::uint8_t { messages, membership };

inline constexpr packet_kind packet_kinds[] = {packet_kind::messages, packet_kind::membership};

/// A library that carries packets between the ranks of a job, each whole, in the order in which
/// they were sent, and never blocks: what moves them is being called. Memory that was lent to it
/// cannot be taken back: it stays lent until the operation is complete. Errors are exceptions.
///   packet              that came and was not received yet: its `source` and its `size`
///   packet_bytes_max    of the longest packet
///   send(to, kind, out)     starts; `out` is unchanged until it is complete. Nothing of it need
///                           move before the receiver calls the library
///   next(kind)          the next packet of this kind from whoever; it must be received
///   receive(packet, in)     starts; `in` has just its size
///   complete(operation)     whether it is, without blocking; then it is spent
///   advance()           moves on what else the library does; whether any of it has completed
///   busy()              whether any of it is under way
///   require_caller()    throws unless the calling thread may call the library
///   end_job(why)        does not return: ends all ranks, and tells people why
template <class L>
concept packet_library = requires(L& l, const L& c, int to, packet_kind kind, byte_view out,
                                  mutable_byte_view in, typename L::operation& under_way,
                                  const typename L::packet& came, std::string_view why) {
    { L::name } -> std::convertible_to<const char*>;
    { L::packet_bytes_max } -> std::convertible_to<std::size_t>;
    { c.rank() } -> std::same_as<int>;
    { c.size() } -> std::same_as<int>;
    { came.source } -> std::convertible_to<int>;
    { came.size } -> std::convertible_to<std::size_t>;
    { l.send(to, kind, out) } -> std::same_as<typename L::operation>;
    { l.next(kind) } -> std::same_as<std::optional<typename L::packet>>;
    { l.receive(came, in) } -> std::same_as<typename L::operation>;
    { l.complete(under_way) } -> std::same_as<bool>;
    { l.advance() } -> std::same_as<bool>;
    { c.busy() } -> std::same_as<bool>;
    c.require_caller();
    { l.end_job(why) }
    noexcept;
};

}  // namespace sotto::detail::net
