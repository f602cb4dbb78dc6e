#pragma once

#include <string>

#include "sotto/core/clock.hpp"

/// What ranks say of each other that wait, or failed.
namespace sotto::detail::net {

/// Whom a rank waits for that computes; a rank, or any_rank, is what others wait for.
inline constexpr int waits_for_no_rank = -2;

/// Why a rank failed whose transport goes while an exception passes.
inline constexpr const char* unwound_cause = "an exception ended its work";

/// "2.35 s", to milliseconds.
void append_seconds(std::string& text, duration time);

/// What a rank says that waited for something until its deadline.
std::string waited_in_vain(const std::string& transport, int rank, duration timeout,
                           const std::string& what);

/// What a rank says that was given up while it lived, of each rank that did.
inline constexpr const char* gave_up_cause = "it has given this rank up: ";

}  // namespace sotto::detail::net

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/detail/messaging/membership_words.ipp"
#endif
