#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace sotto::detail::net {

/// Terms that both ends of a connection know before its first frame.
struct link_terms {
    std::uint32_t epoch = 0;
    std::uint64_t seed_out = 0;  // seeds of digests, one for each direction
    std::uint64_t seed_in = 0;
    std::int64_t budget = 4 << 20;   // bytes of messages that the receiver takes without a receive
    std::size_t staging = 64 << 10;  // bytes read at once behind a message: at least a header's
    bool may_lack_content = false;   // messages may be only sizes, with a digest of 0
    std::int64_t part = (std::numeric_limits<std::int64_t>::max)();  // bytes of a message in one
                                                                     // frame
};

/// Argument of `received`: keep every message, with or without a receive.
constexpr std::int64_t keeps_all = (std::numeric_limits<std::int64_t>::max)();

}  // namespace sotto::detail::net
