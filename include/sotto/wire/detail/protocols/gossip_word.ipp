#pragma once

#include "sotto/wire/detail/protocols/gossip_word.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>

#include "sotto/core/bytes.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/detail/memory/finite.hpp"
#include "sotto/core/result.hpp"
#include "sotto/wire/detail/coding/little_endian.hpp"

namespace sotto::detail::wire {

SOTTO_DECL double gossip_clock::epoch_of(std::uint64_t at) const noexcept {
    return at < step ? epoch : epoch + static_cast<double>(at - step) * pace;
}

inline namespace SOTTO_UNIT {

SOTTO_DECL void write_gossip_word(const gossip_word& w, std::byte* to) noexcept {
    const auto put = [to](std::size_t at, auto value) { store_little_endian(to + at, value); };
    const auto put_real = [&](std::size_t at, double value) {
        put(at, std::bit_cast<std::uint64_t>(value));
    };
    put(0, static_cast<std::uint32_t>(w.kind));
    put(4, (w.has_trained ? 1u : 0u) + (w.takes_part ? 2u : 0u) + (w.waits ? 4u : 0u) +
               (w.is_done ? 8u : 0u) + (w.another ? 16u : 0u) + (w.skips_next ? 32u : 0u) +
               (w.own.tells ? 64u : 0u) + (w.of_ranks.tells ? 128u : 0u) +
               (w.own.gradients > 0 ? 256u : 0u));
    put(8, w.fit);
    put(16, w.rounds);
    put(24, w.since);
    put(32, w.at.step);
    put(40, w.at.round);
    put(44, w.ranks);
    put_real(48, w.own.change);
    put_real(56, w.own.gradient);
    put(64, w.decided.step);
    put(72, w.decided.round);
    put(76, w.links);
    put_real(80, w.of_ranks.change);
    put_real(88, w.of_ranks.gradient);
    put_real(96, w.lost);
    put(104, w.clock.fit);
    put(112, w.clock.step);
    put_real(120, w.clock.epoch);
    put_real(128, w.clock.pace);
    put(136, w.configuration);
    put(144, w.of_ranks.gradients);
}

SOTTO_DECL result<gossip_word> read_gossip_word(byte_view in) noexcept {
    const auto refused = [](std::size_t at, const char* expected, std::uint64_t found) {
        return fault{static_cast<std::int64_t>(at), expected, static_cast<std::int64_t>(found)};
    };
    if (in.size() != gossip_word_bytes) return refused(0, "the 148 bytes of a word", in.size());
    const auto u32 = [&](std::size_t at) {
        return load_little_endian<std::uint32_t>(in.data() + at);
    };
    const auto u64 = [&](std::size_t at) {
        return load_little_endian<std::uint64_t>(in.data() + at);
    };
    if (u32(0) > 7) return refused(0, "a kind of word, 0 to 7", u32(0));
    if (u32(4) > 511) return refused(4, "0 to 511 for what is so of a rank", u32(4));
    for (const std::size_t at : {48u, 56u, 80u, 88u, 96u, 120u, 128u})
        if (const auto real = std::bit_cast<double>(u64(at)); !is_finite(real) || real < 0.0)
            return refused(at, "a number of at least 0", u64(at));
    const auto real = [&](std::size_t at) { return std::bit_cast<double>(u64(at)); };
    return gossip_word{
        .kind = static_cast<gossip_kind>(u32(0)),
        .has_trained = (u32(4) & 1u) != 0,
        .takes_part = (u32(4) & 2u) != 0,
        .waits = (u32(4) & 4u) != 0,
        .is_done = (u32(4) & 8u) != 0,
        .another = (u32(4) & 16u) != 0,
        .skips_next = (u32(4) & 32u) != 0,
        .fit = u64(8),
        .rounds = u64(16),
        .since = u64(24),
        .at = {u64(32), u32(40)},
        .links = u32(76),
        .lost = real(96),
        .own = {real(48), real(56), (u32(4) & 64u) != 0, (u32(4) & 256u) != 0 ? 1u : 0u},
        .decided = {u64(64), u32(72)},
        .ranks = u32(44),
        .of_ranks = {real(80), real(88), (u32(4) & 128u) != 0, u32(144)},
        .clock = {u64(104), u64(112), real(120), real(128)},
        .configuration = u64(136)};
}

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::wire
