#pragma once

#include <cmath>
#include <string>

#include "sotto/core/clock.hpp"
#include "sotto/core/describe.hpp"

/// What ranks say of each other that wait, or failed.
namespace sotto::detail::net {

/// Whom a rank waits for that computes; a rank, or any_rank, is what others wait for.
inline constexpr int waits_for_nobody = -2;

/// Why a rank failed whose transport goes while an exception passes.
inline constexpr const char* unwound_cause = "an exception ended its work";

/// "2.35 s", to milliseconds.
inline void append_seconds(std::string& text, duration time) {
    append_number(text, std::round(1e3 * in_seconds(time)) / 1e3);
    text += " s";
}

/// What a rank says that waited for something until its deadline.
inline std::string waited_in_vain(const std::string& transport, int rank, duration timeout,
                                  const std::string& what) {
    std::string text = "rank " + std::to_string(rank) + " waited ";
    append_number(text, in_seconds(timeout));
    return text + " s for " + what + "; " + transport + "_options::timeout sets the limit";
}

/// What a rank says that was given up while it lived, of each rank that did.
inline constexpr const char* gave_up_cause = "it has given this rank up: ";

}  // namespace sotto::detail::net
