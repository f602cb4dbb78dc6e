#pragma once

#include "sotto/transports/detail/native_collectives.hpp"

#include <utility>

#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL native_collective& native_collective::operator=(native_collective&& other) noexcept {
    swap(other);
    return *this;
}

SOTTO_DECL native_collective::~native_collective() {
    if (calls_) calls_->release(over_, lent_);
}

SOTTO_DECL void native_collective::swap(native_collective& other) noexcept {
    std::swap(over_, other.over_);
    std::swap(lent_, other.lent_);
    std::swap(calls_, other.calls_);
}

}  // namespace sotto::detail
