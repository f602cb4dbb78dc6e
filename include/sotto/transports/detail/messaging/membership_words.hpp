#pragma once

#include <string>

#include "sotto/core/clock.hpp"

/// Texts that ranks exchange about waiting and failures.
namespace sotto::detail::net {

/// Value for a rank that computes and waits for no rank. Otherwise others wait for a rank, or
/// any_rank.
inline constexpr int waits_for_no_rank = -2;

/// Cause of a rank's failure if its transport is destroyed while an exception unwinds.
inline constexpr const char* unwound_cause = "an exception ended its work";

/// Appends a time as "2.35 s", to milliseconds.
void append_seconds(std::string& text, duration time);

/// Cause from a rank that waited for something until its deadline.
std::string waited_in_vain(const std::string& transport, int rank, duration timeout,
                           const std::string& what);

/// Start of the cause that a live rank records for each rank that dropped it.
inline constexpr const char* gave_up_cause = "it has given this rank up: ";

}  // namespace sotto::detail::net

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/detail/messaging/membership_words.ipp"
#endif
