#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sotto/collectives/detail/broadcast.hpp"
#include "sotto/collectives/detail/fitting.hpp"
#include "sotto/collectives/detail/planned.hpp"
#include "sotto/collectives/hierarchical.hpp"
#include "sotto/collectives/tree.hpp"
#include "sotto/compressors/compressor.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/kernels/detail/simd/reductions.hpp"
#include "sotto/strategies/detail/all_reduce/lane.hpp"
#include "sotto/transports/group.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto::detail {

/// The way of one tensor's gradient to all ranks and back in a hierarchy: up a tree to the host's
/// first rank, as a host's message to the other hosts, and the sum down again. A tensor that is
/// summed goes the way of a lane without hosts.
///   cost    4 bytes a weight for the host's sum, besides those of collectives and, on the first
///           rank of a host, of a lane among hosts
template <class Compressor>
class host_lane {
    using state = state_of<Compressor>;
    using flat_lane = lane<Compressor, collectives::fitting>;
    using climb = collectives::planned<collectives::tree_plan>;
    using descent = collectives::broadcast<>;

    static_assert(!compressing::has_after_sum<state>,
                  "all_reduce: this compressor keeps the sum of all messages on every rank, but in "
                  "a hierarchy only the first rank of a host gets messages: leave "
                  "collectives::hierarchical out");

public:
    using shared = typename flat_lane::shared;

    static bool is_summed(const state& compressor, const tensor& t) {
        return flat_lane::is_summed(compressor, t);
    }
    template <class Options>
    static auto binding(const Options& options, transport_ref through) {
        return flat_lane::binding(options, through);
    }

    /// `gives`: of each host, whether any rank of it has a gradient in the round under way.
    template <class Options>
    host_lane(const tensor& t, const Options& options, const state& compressor,
              transport_ref through, const std::vector<std::uint8_t>& gives,
              shared* group = nullptr)
        : tensor_(t), hosts_(through, options.collective) {
        if (compressing::waits_for_all(compressor))
            throw invalid_option(
                "hierarchical: the compressor clips by the whole model's norm, which is not known "
                "before all tensors were added up on the host; clip per tensor");
        if constexpr (packs<Compressor>)
            if (compressor.sums(t)) {
                flat_.emplace(t, options, compressor, through, gives, group);
                return;
            }
        auto& inside = hosts_.inside();
        payload_.resize(static_cast<std::size_t>(t.size) + 1);
        climb_.emplace(
            inside,
            collectives::tree_plan(inside.rank(), inside.size(), collectives::tree_plan::ways::up),
            t.size + 1);
        descent_.emplace(inside, t.size);
        if (hosts_.leads()) between_.emplace(t, options, compressor, hosts_.leaders(), gives);
    }

    const shared* together() const noexcept { return flat_ ? flat_->together() : nullptr; }

    /// Returns the bytes that the gradient became: inside the host it stays dense.
    std::int64_t send(state& compressor, std::span<const float> gradient, std::int64_t round) {
        if (flat_) return flat_->send(compressor, gradient, round);
        std::copy(gradient.begin(), gradient.end(), payload_.begin());
        start(1.0f, round);
        return 4 * tensor_.size;
    }

    std::int64_t send_nothing(state& compressor, std::span<const float> zeros, std::int64_t round) {
        if (flat_) return flat_->send_nothing(compressor, zeros, round);
        std::fill(payload_.begin(), payload_.end(), 0.0f);
        start(0.0f, round);
        return 0;
    }

    bool advance(state& compressor) {
        if (flat_) return flat_->advance(compressor);
        if (now_ == phase::climbing) {
            if (!climb_->advance()) return false;
            now_ = between_ ? phase::between : phase::descending;
            if (between_)
                send_sum(compressor);
            else
                descend();
        }
        if (now_ == phase::between) {
            if (!between_->advance(compressor)) return false;
            const auto sum = values();
            std::fill(sum.begin(), sum.end(), 0.0f);
            between_->decode(compressor, sum);
            now_ = phase::descending;
            descend();
        }
        if (now_ == phase::descending) {
            if (!descent_->advance()) return false;
            now_ = phase::complete;
        }
        return true;
    }

    void abandon() noexcept {
        now_ = phase::complete;
        if (flat_) flat_->abandon();
        if (between_) between_->abandon();
    }

    void decode(state& compressor, std::span<float> sum) {
        if (flat_) return flat_->decode(compressor, sum);
        std::copy_n(payload_.begin(), sum.size(), sum.begin());
    }

    template <class Optimizer>
    void apply(Optimizer& optimizer, bool sparsely, std::span<float> parameters,
               std::span<float> sum) {
        if (flat_) return flat_->apply(optimizer, sparsely, parameters, sum);
        optimizer.update(tensor_, parameters, sum);
        std::fill(sum.begin(), sum.end(), 0.0f);
    }

private:
    enum class phase : std::uint8_t { climbing, between, descending, complete };

    std::span<float> values() noexcept {
        return std::span(payload_).first(static_cast<std::size_t>(tensor_.size));
    }

    tag label(std::uint32_t channel) const noexcept {
        return {channel, static_cast<std::uint32_t>(tensor_.index),
                static_cast<std::uint64_t>(round_)};
    }

    /// The last value counts the ranks of the host that have a gradient.
    void start(float gradients, std::int64_t round) {
        payload_.back() = gradients;
        round_ = round;
        now_ = phase::climbing;
        climb_->start(payload_, label(channels::sums));
    }

    /// What the compressor was told of this rank's own gradient holds for the host's no longer.
    void send_sum(state& compressor) {
        const std::span<const float> sum = values();
        if (payload_.back() == 0.0f) {
            between_->send_nothing(compressor, sum, round_);
            return;
        }
        const double squares = kernels::sum_of_squares(sum);
        if (!kernels::is_finite(squares))
            throw error(errc::non_finite,
                        "the sum over the ranks of a host is not finite: tensor '" + tensor_.name +
                            "', element " + std::to_string(kernels::first_non_finite(sum)));
        compressing::measured(compressor, tensor_, squares);
        between_->send(compressor, sum, round_);
    }

    void descend() { descent_->start(values(), label(channels::messages)); }

    tensor tensor_;
    collectives::hosts hosts_;
    std::vector<float> payload_;  // the host's sum, then everybody's
    phase now_ = phase::complete;
    std::int64_t round_ = 0;
    std::optional<flat_lane> flat_;  // from here on last: transfers end before the memory goes
    std::optional<climb> climb_;
    std::optional<flat_lane> between_;
    std::optional<descent> descent_;
};

}  // namespace sotto::detail
