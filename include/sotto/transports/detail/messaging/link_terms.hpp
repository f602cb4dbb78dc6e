#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace sotto::detail::net {

/// What both ends of a connection know before its first frame.
struct link_terms {
    std::uint32_t epoch = 0;
    std::uint64_t seed_out = 0;  // of digests, one for each direction
    std::uint64_t seed_in = 0;
    std::int64_t budget = 4 << 20;   // bytes of messages that the receiver takes unasked
    std::size_t staging = 64 << 10;  // bytes read at once behind a message: a header's at least
    bool may_lack_content = false;   // messages may be sizes alone, with a digest of 0
    std::int64_t part = (std::numeric_limits<std::int64_t>::max)();  // bytes of a message at once
};

/// For `received`: every message is kept, whether or not a receive waits for it.
constexpr std::int64_t keeps_all = (std::numeric_limits<std::int64_t>::max)();

}  // namespace sotto::detail::net
