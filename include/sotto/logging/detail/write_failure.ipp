#pragma once

#include "sotto/logging/detail/write_failure.hpp"

#include <cstdio>
#include <utility>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/text/print_line.hpp"

namespace sotto::detail {

SOTTO_DECL void complain_of_writing(const write_failure& failure) {
    detail::print_line(stderr, "after step " + std::to_string(failure.step) + ": " +
                                   failure.reason + "; that does not stop training");
}

SOTTO_DECL void complaint::failed(std::int64_t step, std::string reason) {
    last_ = std::move(reason);
    if (!std::exchange(failing_, true) && tell_) tell_({step, last_});
}

SOTTO_DECL void complaint::lost(std::int64_t step, std::string reason) {
    if (!lost_.empty()) return;
    lost_ = std::move(reason);
    if (tell_) tell_({step, lost_});
}

}  // namespace sotto::detail
