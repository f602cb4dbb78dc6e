#pragma once

#include <cstdint>

namespace sotto::detail::collectives {

/// Route of gathered bytes.
///   automatic  the transport's own collective if it has one; else as goes_around_ring decides by
///              size
///   direct     from every rank to every rank
///   ring       from neighbour to neighbour around a ring
enum class route : std::uint8_t { automatic, direct, ring };

}  // namespace sotto::detail::collectives
