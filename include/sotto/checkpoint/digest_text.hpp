#pragma once

#include <string>

#include "sotto/core/bytes.hpp"

namespace sotto {

/// Returns 32 hexadecimal digits that stand for all bits of some bytes, such as `std::as_bytes` of
/// a model's parameters. Two runs with equal digits learned the same, to the last bit.
///   math    XXH3-128, most significant byte first. It detects accidents, not forgeries
///   cost    one pass over the bytes
std::string digest_text(byte_view all);

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/checkpoint/digest_text.ipp"
#endif
