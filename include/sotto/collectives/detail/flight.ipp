#pragma once

#include "sotto/collectives/detail/flight.hpp"

#include <utility>

#include "sotto/core/config.hpp"

namespace sotto::detail::collectives {

SOTTO_DECL flight::flight(flight&& other) noexcept
    : through_(other.through_),
      requests_(std::move(other.requests_)),
      first_(other.first_),
      count_(std::exchange(other.count_, 0)) {}

SOTTO_DECL flight& flight::operator=(flight&& other) noexcept {
    swap(other);
    return *this;
}

SOTTO_DECL flight::~flight() {
    if (count_ > 0) through_.withdraw();
}

SOTTO_DECL void flight::push(request r) noexcept {
    requests_[(first_ + count_) % requests_.size()] = r;
    ++count_;
}

SOTTO_DECL std::optional<completion> flight::pop_complete() {
    if (count_ == 0) return std::nullopt;
    const auto ended = through_.poll(requests_[first_]);
    if (!ended) return std::nullopt;
    first_ = (first_ + 1) % requests_.size();
    --count_;
    return ended;
}

SOTTO_DECL void flight::swap(flight& other) noexcept {
    std::swap(through_, other.through_);
    std::swap(requests_, other.requests_);
    std::swap(first_, other.first_);
    std::swap(count_, other.count_);
}

}  // namespace sotto::detail::collectives
