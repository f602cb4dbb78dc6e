#pragma once

#include "sotto/transports/fail_with_exception.hpp"

#include <exception>

#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL errc kind_of_current_exception() noexcept {
    return with_current_exception([](const std::exception* failure) {
        const auto* const known = dynamic_cast<const error*>(failure);
        return known ? static_cast<errc>(known->code().value()) : errc::peer_failed;
    });
}

}  // namespace sotto::detail
