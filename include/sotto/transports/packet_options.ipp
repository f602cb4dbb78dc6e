#pragma once

#include "sotto/transports/packet_options.hpp"

#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"

namespace sotto::detail::net {

SOTTO_DECL void packet_options::require_possible(const std::string& name) const {
    const auto refuse = [&](const std::string& what) { throw invalid_option(name + ": " + what); };
    if (timeout <= duration::zero())
        refuse("timeout is " + std::to_string(timeout.count()) + " ns; it must be above 0");
    if (budget < 65536)
        refuse("budget is " + std::to_string(budget) + " bytes; it must be at least 65536");
    if (transfers < 0)
        refuse("room for " + std::to_string(transfers) + " transfers; it must be at least 0");
}

}  // namespace sotto::detail::net
