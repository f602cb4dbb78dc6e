#pragma once

#include "sotto/wire/detail/protocols/rendezvous_message.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

#include "sotto/core/config.hpp"
#include "sotto/core/result.hpp"
#include "sotto/wire/detail/coding/little_endian.hpp"
#include "sotto/wire/detail/protocols/hello.hpp"

namespace sotto::detail::wire {

inline namespace SOTTO_UNIT {

SOTTO_DECL std::array<std::byte, rendezvous_message_bytes> written_rendezvous_message(
    const rendezvous_message& w) noexcept {
    std::array<std::byte, rendezvous_message_bytes> out{};
    std::byte* const to = out.data();
    store_little_endian(to, rendezvous_message_magic);
    to[4] = static_cast<std::byte>(w.what);
    to[5] = static_cast<std::byte>(w.why);
    to[6] = std::byte{w.which};
    store_little_endian(to + 8, w.rank);
    store_little_endian(to + 16, w.ours);
    store_little_endian(to + 24, w.theirs);
    store_little_endian(to + 32, w.incarnation);
    store_little_endian(to + 40, opening_digest(to, 40));
    return out;
}

SOTTO_DECL result<rendezvous_message> read_rendezvous_message(const std::byte* from) noexcept {
    const auto magic = load_little_endian<std::uint32_t>(from);
    if (magic != rendezvous_message_magic)
        return fault{0, "a rendezvous message, which starts with SOWo", magic};
    const auto digest = load_little_endian<std::uint64_t>(from + 40);
    if (digests_are_checked && digest != opening_digest(from, 40))
        return fault{40, "the digest of the message before it", static_cast<std::int64_t>(digest)};
    const auto what = std::to_integer<std::uint8_t>(from[4]);
    if (what > static_cast<std::uint8_t>(saying::go)) return fault{4, "a saying, 0 to 6", what};
    const auto why = std::to_integer<std::uint8_t>(from[5]);
    if (why > static_cast<std::uint8_t>(refusal::lost))
        return fault{5, "a reason to refuse, 0 to 10", why};
    if ((static_cast<saying>(what) == saying::refused) != (why != 0))
        return fault{5, "a reason for a refusal, and for nothing else", why};
    const auto which = std::to_integer<std::uint8_t>(from[6]);
    if (which >= agreed_values) return fault{6, "an agreed value, 0 to 5", which};
    return rendezvous_message{static_cast<saying>(what),
                              static_cast<refusal>(why),
                              which,
                              load_little_endian<std::uint32_t>(from + 8),
                              load_little_endian<std::uint64_t>(from + 16),
                              load_little_endian<std::uint64_t>(from + 24),
                              load_little_endian<std::uint64_t>(from + 32)};
}

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::wire
