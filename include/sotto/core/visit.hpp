#pragma once

#include <cstdint>

namespace sotto {

/// How ranks hold what a state shows to a visitor, `field(name, value, kept)`, so that it can be
/// saved and given to another number of ranks. `field(name, value)` alone means alike.
///   alike   every rank holds the same bits: one copy is saved, every new rank gets it
///   apart   every rank holds its own part of a sum, what it has not sent yet: all are saved, and
///           any number of new ranks gets parts that add up to the same
enum class kept : std::uint8_t { alike, apart };

}  // namespace sotto
