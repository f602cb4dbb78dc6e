#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "sotto/core/config.hpp"
#include "sotto/core/result.hpp"
#include "sotto/wire/detail/protocols/hello.hpp"
#include "sotto/wire/detail/coding/little_endian.hpp"

namespace sotto::detail::wire {

/// What ranks that have met say to each other until all can begin.
enum class saying : std::uint8_t {
    welcome,  // the answer to a hello that is accepted
    refused,  // the answer to one that is not, or the end of the job: `why` says it
    alive,    // nothing else: its sender is still there
    table,    // to all, who listens where: a table of ranks follows
    ready,    // to rank 0: all connections are there
    lacks,    // to rank 0: none to rank `ours` in time
    go,       // from rank 0: all are ready
};

/// Why a rank is refused.
enum class refusal : std::uint8_t {
    none,        // it is not
    version,     // ours and theirs: highest versions
    job,         // digests of the names
    world,       // sizes
    rank,        // ours: the size; theirs: the rank
    duplicate,   // theirs: the rank
    epoch,       // of the membership: another one
    agreed,      // of the agreed values, the one called `which`
    unexpected,  // a connection that this rank does not wait for
    absent,      // ours: a rank that never came; theirs: how many did not
    lost,        // ours: a rank that had come and is gone
};

/// What is said, and what is needed to understand it.
struct word {
    saying what = saying::welcome;  // what is said
    refusal why = refusal::none;    // for saying::refused alone
    std::uint8_t which = 0;         // of the agreed values, where one of them is at fault
    std::uint32_t rank = 0;         // that says it
    std::uint64_t ours = 0;         // see refusal and saying
    std::uint64_t theirs = 0;       // see refusal
    std::uint64_t incarnation = 0;  // of the rank's start, see hello
    friend bool operator==(const word&, const word&) = default;
};

constexpr std::size_t word_bytes = 48;            // on the wire
constexpr std::uint32_t word_magic = 0x6f574f53;  // SOWo

inline namespace SOTTO_UNIT {

/// Bytes of a word.
///   wire    | bytes | content, little endian             |
///           | 4     | SOWo                               |
///           | 1     | what it says, 0 to 6               |
///           | 1     | why something is refused, 0 to 10  |
///           | 1     | which agreed value                 |
///           | 1     | 0                                  |
///           | 4     | rank that says it                  |
///           | 4     | 0                                  |
///           | 8     | its value                          |
///           | 8     | the value that was said to it      |
///           | 8     | its incarnation                    |
///           | 8     | XXH3-64 of all before              |
inline std::array<std::byte, word_bytes> written_word(const word& w) noexcept {
    std::array<std::byte, word_bytes> out{};
    std::byte* const to = out.data();
    store_little_endian(to, word_magic);
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

/// Reads a word; requires word_bytes at `from`.
///   errors  refuses other magic bytes, a damaged one, a saying or refusal that there is not, and a
///           refusal without its reason
inline result<word> read_word(const std::byte* from) noexcept {
    const auto magic = load_little_endian<std::uint32_t>(from);
    if (magic != word_magic) return fault{0, "a word, which starts with SOWo", magic};
    const auto digest = load_little_endian<std::uint64_t>(from + 40);
    if (digests_are_checked && digest != opening_digest(from, 40))
        return fault{40, "the digest of the word before it", static_cast<std::int64_t>(digest)};
    const auto what = std::to_integer<std::uint8_t>(from[4]);
    if (what > static_cast<std::uint8_t>(saying::go)) return fault{4, "a saying, 0 to 6", what};
    const auto why = std::to_integer<std::uint8_t>(from[5]);
    if (why > static_cast<std::uint8_t>(refusal::lost))
        return fault{5, "a reason to refuse, 0 to 10", why};
    if ((static_cast<saying>(what) == saying::refused) != (why != 0))
        return fault{5, "a reason for a refusal, and for nothing else", why};
    const auto which = std::to_integer<std::uint8_t>(from[6]);
    if (which >= agreed_values) return fault{6, "an agreed value, 0 to 5", which};
    return word{static_cast<saying>(what),
                static_cast<refusal>(why),
                which,
                load_little_endian<std::uint32_t>(from + 8),
                load_little_endian<std::uint64_t>(from + 16),
                load_little_endian<std::uint64_t>(from + 24),
                load_little_endian<std::uint64_t>(from + 32)};
}

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::wire
