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

/// Kind of a message between ranks that mix with neighbours, if ranks may leave and join.
enum class gossip_kind : std::uint32_t {
    hello,    // begins a call of `fit` and asks for the peer's state
    here,     // answers hello
    asks,     // requests the peer's parameters
    hands,    // the parameters follow
    begins,   // begins a round of mixing
    stands,   // reports its round to the rank that sums up, with its addend
    verdict,  // result of a sum
    done,     // has finished all steps of the call of `fit`
};

/// A round of mixing: the number of its step, and the number of the round in that step, from 1 on.
/// Both are 0 if there is no round.
struct gossip_place {
    std::uint64_t step = 0;   // number of the step
    std::uint32_t round = 0;  // number of the round in that step, from 1 on

    friend constexpr auto operator<=>(const gossip_place&, const gossip_place&) = default;
};

/// Sums over ranks, for a controller.
struct gossip_sums {
    double change = 0.0;          // ||sum over j of w_ij x_j - x_i||^2
    double gradient = 0.0;        // ||g_i||^2
    bool tells = false;           // a rank has mixed; else a change of 0 has no meaning
    std::uint32_t gradients = 0;  // number of ranks that had data, and so a gradient

    friend bool operator==(const gossip_sums&, const gossip_sums&) = default;
};

/// Epoch of a step of a call of `fit`, for decisions that all ranks make alike. Each rank reads its
/// own data at its own pace.
struct gossip_clock {
    std::uint64_t fit = 0;   // call of `fit`; 0: not agreed yet
    std::uint64_t step = 0;  // step at which ranks agreed on `epoch`
    double epoch = 0.0;      // epoch of that step
    double pace = 0.0;       // epochs per step

    /// Returns the epoch of another step, from the agreed pace.
    double epoch_of(std::uint64_t at) const noexcept;
    friend bool operator==(const gossip_clock&, const gossip_clock&) = default;
};

/// A message between two ranks, always of the same length.
struct gossip_word {
    gossip_kind kind = gossip_kind::hello;  // kind of the message
    bool has_trained = false;               // its parameters are worth fetching
    bool takes_part = false;                // it takes part in rounds of mixing
    bool waits = false;                     // it waits for the verdict of `at`; its addend is `own`
    bool is_done = false;                   // it is done with this call
    bool another = false;                   // last verdict: the step has another round
    bool skips_next = false;                // last verdict: the next step has no round
    std::uint64_t fit = 0;                  // number of calls of `fit` that it has begun
    std::uint64_t rounds = 0;               // number of rounds of this call that it has done
    std::uint64_t since = 0;                // first step in which it takes part; 0: from the start
    gossip_place at{};                      // its present round
    std::uint32_t links = 0;                // number of live links at the start of that round
    double lost = 0.0;                      // sum of the weights of its lost links
    gossip_sums own{};                      // its addend to a sum
    gossip_place decided{};                 // round of the last verdict that it knows
    std::uint32_t ranks = 0;                // number of ranks in that verdict
    gossip_sums of_ranks{};                 // sums of that verdict
    gossip_clock clock{};                   // epoch that the ranks agreed on
    std::uint64_t configuration = 0;        // digest of its configuration
};

inline constexpr std::size_t gossip_word_bytes = 148;  // on the wire

inline namespace SOTTO_UNIT {

/// Writes a word to 148 bytes.
///   wire    | bytes | content, little endian                                          |
///           | 4     | kind, 0 to 7                                                    |
///           | 4     | flags, added up: 1 has trained, 2 takes part, 4 waits, 8 is     |
///           |       | done, 16 another round, 32 no round in the next step, 64 its    |
///           |       | addend has a change, 128 the verdict's sums have a change, 256  |
///           |       | its addend has a gradient                                       |
///           | 8     | calls of `fit`                                                  |
///           | 8     | rounds of this call                                             |
///           | 8     | first step in which it takes part                               |
///           | 8, 4  | its present round: step, round                                  |
///           | 4     | ranks of the last verdict                                       |
///           | 8, 8  | its addend: squared change and gradient, doubles                |
///           | 8, 4  | the round of the last verdict                                   |
///           | 4     | links at the start of its round                                 |
///           | 8, 8  | the verdict's sums, doubles                                     |
///           | 8     | sum of the weights of its lost links, a double                  |
///           | 8, 8  | the clock: call of `fit`, step                                  |
///           | 8, 8  | its epoch, and epochs per step, doubles                         |
///           | 8     | the XXH3-64 of the configuration                                |
///           | 4     | gradients in the verdict's sums                                 |
void write_gossip_word(const gossip_word& w, std::byte* to) noexcept;

///   errors  refuses any other length, and bytes that are not as above; doubles that are not
///           finite, or below 0
result<gossip_word> read_gossip_word(byte_view in) noexcept;

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::wire

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/wire/detail/protocols/gossip_word.ipp"
#endif
