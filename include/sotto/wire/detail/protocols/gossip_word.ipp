#pragma once

#include "sotto/wire/detail/protocols/gossip_word.hpp"

#include "sotto/core/config.hpp"

namespace sotto::detail::wire {

SOTTO_DECL double gossip_clock::epoch_of(std::uint64_t at) const noexcept {
    return at < step ? epoch : epoch + static_cast<double>(at - step) * pace;
}

}  // namespace sotto::detail::wire
