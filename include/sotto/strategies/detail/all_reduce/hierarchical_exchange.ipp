#pragma once

#include "sotto/strategies/detail/all_reduce/hierarchical_exchange.hpp"

#include <algorithm>
#include <cstddef>
#include <string>

#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/kernels/detail/simd/reductions.hpp"

namespace sotto::detail {

SOTTO_DECL hierarchical_exchange::hierarchical_exchange(
    const tensor& t, const sotto::collectives::hierarchical& hosts, const exchange_ways& ways,
    message_codec& codec, transport_ref through, const std::vector<std::uint8_t>& gives,
    bucket* group)
    : tensor_exchange(t), codec_(codec), hosts_(through, hosts) {
    if (codec.waits_for_all())
        throw invalid_option(
            "hierarchical: the compressor clips by the whole model's norm, which is not known "
            "before all tensors were added up on the host; clip per tensor");
    if (codec.can.packs && codec.sums(t)) {
        flat_.emplace(t, ways, codec, through, gives, group);
        return;
    }
    auto& inside = hosts_.inside();
    payload_.resize(static_cast<std::size_t>(t.size) + 1);
    climb_.emplace(
        inside,
        collectives::tree_plan(inside.rank(), inside.size(), collectives::tree_plan::ways::up),
        t.size + 1);
    descent_.emplace(inside, t.size);
    if (hosts_.leads()) between_.emplace(t, ways, codec, hosts_.leaders(), gives);
}

SOTTO_DECL const bucket* hierarchical_exchange::together() const noexcept {
    return flat_ ? flat_->together() : nullptr;
}

SOTTO_DECL std::int64_t hierarchical_exchange::send(std::span<const float> gradient,
                                                    std::int64_t round) {
    if (flat_) return flat_->send(gradient, round);
    std::copy(gradient.begin(), gradient.end(), payload_.begin());
    start(1.0f, round);
    return 4 * tensor_.size;
}

SOTTO_DECL std::int64_t hierarchical_exchange::send_nothing(std::span<const float> zeros,
                                                            std::int64_t round) {
    if (flat_) return flat_->send_nothing(zeros, round);
    std::fill(payload_.begin(), payload_.end(), 0.0f);
    start(0.0f, round);
    return 0;
}

SOTTO_DECL bool hierarchical_exchange::advance() {
    if (flat_) return flat_->advance();
    if (now_ == phase::climbing) {
        if (!climb_->advance()) return false;
        now_ = between_ ? phase::between : phase::descending;
        if (between_)
            send_sum();
        else
            descend();
    }
    if (now_ == phase::between) {
        if (!between_->advance()) return false;
        const auto sum = values();
        std::fill(sum.begin(), sum.end(), 0.0f);
        between_->decode(sum);
        now_ = phase::descending;
        descend();
    }
    if (now_ == phase::descending) {
        if (!descent_->advance()) return false;
        now_ = phase::complete;
    }
    return true;
}

SOTTO_DECL void hierarchical_exchange::abandon() noexcept {
    now_ = phase::complete;
    if (flat_) flat_->abandon();
    if (between_) between_->abandon();
}

SOTTO_DECL void hierarchical_exchange::decode(std::span<float> sum) {
    if (flat_) return flat_->decode(sum);
    std::copy_n(payload_.begin(), sum.size(), sum.begin());
}

SOTTO_DECL tensor_exchange::outcome hierarchical_exchange::take_outcome() noexcept {
    return flat_ ? flat_->take_outcome() : outcome{};
}

SOTTO_DECL std::span<float> hierarchical_exchange::values() noexcept {
    return std::span(payload_).first(static_cast<std::size_t>(tensor_.size));
}

SOTTO_DECL tag hierarchical_exchange::label(std::uint32_t channel) const noexcept {
    return {channel, static_cast<std::uint32_t>(tensor_.index), static_cast<std::uint64_t>(round_)};
}

SOTTO_DECL void hierarchical_exchange::start(float gradients, std::int64_t round) {
    payload_.back() = gradients;
    round_ = round;
    now_ = phase::climbing;
    climb_->start(payload_, label(channels::sums));
}

SOTTO_DECL void hierarchical_exchange::send_sum() {
    const std::span<const float> sum = values();
    if (payload_.back() == 0.0f) {
        between_->send_nothing(sum, round_);
        return;
    }
    const double squares = kernels::sum_of_squares(sum);
    if (!kernels::is_finite(squares))
        throw error(errc::non_finite, "the sum over the ranks of a host is not finite: tensor '" +
                                          tensor_.name + "', element " +
                                          std::to_string(kernels::first_non_finite(sum)));
    codec_.measured(tensor_, squares);
    between_->send(sum, round_);
}

}  // namespace sotto::detail
