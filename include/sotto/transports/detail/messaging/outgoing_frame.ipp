#pragma once

#include "sotto/transports/detail/messaging/outgoing_frame.hpp"

#include <algorithm>

#include "sotto/core/config.hpp"

namespace sotto::detail::net {

SOTTO_DECL void outgoing_frame::begin_part(std::size_t most) noexcept {
    payload = rest.first((std::min)(rest.size(), most));
    rest = rest.subspan(payload.size());
}

}  // namespace sotto::detail::net
