#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

#include "sotto/core/bytes.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/detail/memory/finite.hpp"
#include "sotto/core/result.hpp"
#include "sotto/wire/detail/coding/little_endian.hpp"

namespace sotto::detail::wire {

/// What ranks that mix with their neighbours tell each other where ranks may come and go.
enum class gossip_kind : std::uint32_t {
    hello,    // it begins a call of `fit`, and asks where the other is
    here,     // the answer
    asks,     // for the other's parameters
    hands,    // the parameters follow
    begins,   // a round of mixing
    stands,   // where it is, to who sums up, with what it adds to the sum it waits for
    verdict,  // of a sum
    done,     // with all steps of the call of `fit`
};

/// A round of mixing: the number of its step, and which of that step's rounds it is, from 1 on.
/// Both 0: none.
struct gossip_place {
    std::uint64_t step = 0;   // its number
    std::uint32_t round = 0;  // of that step, from 1 on

    friend constexpr auto operator<=>(const gossip_place&, const gossip_place&) = default;
};

/// What a controller is told of: summed over ranks.
struct gossip_sums {
    double change = 0.0;          // ||sum over j of w_ij x_j - x_i||^2
    double gradient = 0.0;        // ||g_i||^2
    bool tells = false;           // a rank has mixed: else changes of 0 say nothing
    std::uint32_t gradients = 0;  // ranks that had data, and so a gradient

    friend bool operator==(const gossip_sums&, const gossip_sums&) = default;
};

/// Which epoch a step of a call of `fit` is in, for what all ranks decide alike: they go through
/// their own data at their own pace.
struct gossip_clock {
    std::uint64_t fit = 0;   // 0: none is agreed on
    std::uint64_t step = 0;  // where `epoch` was agreed on
    double epoch = 0.0;      // of that step
    double pace = 0.0;       // epochs a step

    /// The epoch of another step, by the pace that was agreed on.
    double epoch_of(std::uint64_t at) const noexcept;
    friend bool operator==(const gossip_clock&, const gossip_clock&) = default;
};

/// What one rank tells another, in one length whatever it says.
struct gossip_word {
    gossip_kind kind = gossip_kind::hello;  // what it is for
    bool has_trained = false;               // its parameters are worth fetching
    bool takes_part = false;                // in rounds of mixing
    bool waits = false;               // for a verdict of the round `at`, to which it adds `own`
    bool is_done = false;             // with this call
    bool another = false;             // by the last verdict the step has another round
    bool skips_next = false;          // and the step after it none
    std::uint64_t fit = 0;            // calls of `fit` that it has begun
    std::uint64_t rounds = 0;         // of this call, that it has done
    std::uint64_t since = 0;          // from which step on it takes part; 0: from the beginning
    gossip_place at{};                // the round that it is in
    std::uint32_t links = 0;          // with which it begins that round
    double lost = 0.0;                // what its other links weighed
    gossip_sums own{};                // what it adds to a sum
    gossip_place decided{};           // the last verdict that it knows
    std::uint32_t ranks = 0;          // that it is of
    gossip_sums of_ranks{};           // and what they added up to
    gossip_clock clock{};             // which epoch it is in
    std::uint64_t configuration = 0;  // a digest of it
};

inline constexpr std::size_t gossip_word_bytes = 148;  // on the wire

inline namespace SOTTO_UNIT {

/// Writes a word to 148 bytes.
///   wire    | bytes | content, little endian                                          |
///           | 4     | kind, 0 to 7                                                    |
///           | 4     | 1 it has trained, 2 takes part, 4 waits, 8 is done, 16 another   |
///           |       | round, 32 none in the next step, 64 what it adds tells of a      |
///           |       | change, 128 the verdict's sums do, 256 it adds a gradient,        |
///           |       | added up                                                        |
///           | 8     | calls of `fit`                                                  |
///           | 8     | rounds of this call                                             |
///           | 8     | the step from which on it takes part                            |
///           | 8, 4  | the round that it is in: step, round                            |
///           | 4     | ranks of the last verdict                                       |
///           | 8, 8  | what it adds: squared change and gradient, doubles              |
///           | 8, 4  | the round of the last verdict                                   |
///           | 4     | links with which it begins its round                            |
///           | 8, 8  | the verdict's sums, doubles                                     |
///           | 8     | what its other links weighed, a double                          |
///           | 8, 8  | the clock: call of `fit`, step                                  |
///           | 8, 8  | its epoch, and epochs a step, doubles                           |
///           | 8     | the XXH3-64 of the configuration                                |
///           | 4     | gradients in the verdict's sums                                 |
void write_gossip_word(const gossip_word& w, std::byte* to) noexcept;

///   errors  refuses any other length, and bytes that are not as above; doubles that are no
///           numbers, or below 0
result<gossip_word> read_gossip_word(byte_view in) noexcept;

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::wire

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/wire/detail/protocols/gossip_word.ipp"
#endif
