#pragma once

#include "sotto/strategies/detail/codistillation/tensor_messages.hpp"

#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL void tensor_messages::begin() noexcept {
    awaited_.clear();
    next_ = 0;
    for (arrival& a : arrived_) a.size = 0;
}

SOTTO_DECL bool tensor_messages::advance() {
    while (sends_.pop_complete()) {}
    while (const auto ended = receives_.pop_complete())
        arrived_[awaited_[next_++]].size = static_cast<std::size_t>(ended->bytes);
    return sends_.empty() && receives_.empty();
}

SOTTO_DECL byte_view tensor_messages::from(const tensor& t, std::size_t i) const noexcept {
    const arrival& a = arrived_[slot(t) * from_max_ + i];
    return byte_view(a.memory).first(a.size);
}

SOTTO_DECL tensor_messages::arrival& tensor_messages::at(const tensor& t, std::size_t i) noexcept {
    return arrived_[slot(t) * from_max_ + i];
}

}  // namespace sotto::detail
