#pragma once

#include "sotto/launch/detail/ending.hpp"

#include <cstring>

#include "sotto/core/config.hpp"
#include "sotto/core/exit_code.hpp"

namespace sotto::detail::launch {

SOTTO_DECL bool ending::lacks_output() const noexcept {
    return !by_signal() && exit_status() == static_cast<int>(exit_code::output_incomplete);
}

SOTTO_DECL int ending::certainty() const noexcept {
    if (!by_itself()) return 2;
    return !by_signal() && exit_status() == static_cast<int>(exit_code::peer) ? 0 : 1;
}

SOTTO_DECL int ending::exit_status() const noexcept {
    return by_signal() ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

SOTTO_DECL std::string ending::text() const {
    const std::string who = "rank " + std::to_string(rank);
    if (!by_signal()) return who + " ended with exit status " + std::to_string(exit_status());
    return who + " was ended by signal " + std::to_string(WTERMSIG(status)) + " (" +
           ::strsignal(WTERMSIG(status)) + ")";
}

}  // namespace sotto::detail::launch
