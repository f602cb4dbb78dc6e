#pragma once

#include "sotto/strategies/detail/gossip/state_handover.hpp"

#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL state_handover::~state_handover() {
    if (fetching_ || handing_) through_.withdraw();
}

SOTTO_DECL void state_handover::hold(std::span<float> parameters,
                                     std::span<float> buffers) noexcept {
    parameters_ = parameters;
    buffers_ = buffers;
}

SOTTO_DECL void state_handover::is_handed_by(int rank, const wire::gossip_word& word) noexcept {
    handed_by_ = rank;
    handed_ = word;
}

SOTTO_DECL bool state_handover::is_fetched() {
    if (fetching_) (void)mail_->ended(fetching_, &came_);
    return !fetching_ && (came_ < 0 || handed_by_ == from_);
}

SOTTO_DECL std::optional<wire::gossip_word> state_handover::handed() const noexcept {
    if (came_ < 0 || handed_by_ != from_) return std::nullopt;
    return handed_;
}

SOTTO_DECL bool state_handover::take() noexcept {
    if (came_ != static_cast<std::int64_t>(taken_.size() * sizeof(float))) return false;
    std::copy_n(taken_.begin(), parameters_.size(), parameters_.begin());
    std::copy_n(taken_.begin() + std::ssize(parameters_), buffers_.size(), buffers_.begin());
    large_vector<float>().swap(taken_);
    return true;
}

SOTTO_DECL void state_handover::make_room(large_vector<float>& in) const {
    in.resize(parameters_.size() + buffers_.size());
}

}  // namespace sotto::detail
