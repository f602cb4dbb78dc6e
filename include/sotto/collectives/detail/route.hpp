#pragma once

#include <cstdint>

namespace sotto::detail::collectives {

/// How gathered bytes travel: straight from everyone to everyone, or from neighbour to neighbour
/// around a ring. Automatic: by the transport's own collective, where it has one; else by whichever
/// suits their size.
///   automatic  by the transport's own collective, where it has one; else as goes_around_ring says
///   direct     from everyone to everyone
///   ring       from neighbour to neighbour
enum class route : std::uint8_t { automatic, direct, ring };

}  // namespace sotto::detail::collectives
