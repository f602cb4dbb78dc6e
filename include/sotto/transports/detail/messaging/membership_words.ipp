#pragma once

#include "sotto/transports/detail/messaging/membership_words.hpp"

#include <cmath>

#include "sotto/core/config.hpp"
#include "sotto/core/describe.hpp"

namespace sotto::detail::net {

SOTTO_DECL void append_seconds(std::string& text, duration time) {
    append_number(text, std::round(1e3 * in_seconds(time)) / 1e3);
    text += " s";
}

SOTTO_DECL std::string waited_in_vain(const std::string& transport, int rank, duration timeout,
                                      const std::string& what) {
    std::string text = "rank " + std::to_string(rank) + " waited ";
    append_number(text, in_seconds(timeout));
    return text + " s for " + what + "; " + transport + "_options::timeout sets the limit";
}

}  // namespace sotto::detail::net
