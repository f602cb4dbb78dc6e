#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "sotto/collectives/all_reduce.hpp"
#include "sotto/collectives/operation.hpp"
#include "sotto/consensus/critical_distance.hpp"
#include "sotto/core/large_pages.hpp"
#include "sotto/kernels/arithmetic.hpp"
#include "sotto/kernels/reductions.hpp"
#include "sotto/transports/transport.hpp"

namespace sotto {

/// Measures exactly how far ranks are apart, by the mean of their parameters. All of it is done by
/// all ranks alike.
///   cost    an all-reduce of the parameters each time, and one of the gradients where the critical
///           distance is estimated; 4 bytes a parameter, 12 more for that
template <transport Transport>
class consensus_study {
public:
    consensus_study(Transport& through, std::int64_t size, bool sees_gradients)
        : through_(&through),
          sum_(through, size),
          scalars_(through, 2),
          mean_(static_cast<std::size_t>(size)) {
        if (!sees_gradients) return;
        for (auto* all : {&gradient_, &mean_before_, &gradient_before_})
            all->resize(static_cast<std::size_t>(size));
    }

    /// Xi. `number` grows by one with every call.
    double distance(std::span<const float> values, std::uint64_t number) {
        std::copy(values.begin(), values.end(), mean_.begin());
        take_mean(mean_, {channels::gossip, 1u << 30, number});
        scalar_[0] = static_cast<float>(kernels::squared_distance(values, mean_));
        sum_scalars(1, number);
        return std::sqrt(scalar_[0] / static_cast<double>(through_->size()));
    }

    /// A gradient's tensor, before anything is made of it.
    std::span<float> gradient() noexcept { return gradient_; }

    /// The critical distance, by the gradients and the mean that `distance` has found last; not a
    /// number until there is a change to be seen.
    double critical_distance(double learning_rate, std::uint64_t number) {
        scalar_[0] = static_cast<float>(kernels::sum_of_squares(gradient_));
        take_mean(gradient_, {channels::gossip, (1u << 30) + 1, number});
        sum_scalars(2, number);
        const int n = through_->size();
        landscape_.see_gradients(scalar_[0] / static_cast<double>(n),
                                 kernels::sum_of_squares(gradient_), n);
        if (seen_)
            landscape_.see_change(kernels::squared_distance(gradient_, gradient_before_),
                                  kernels::squared_distance(mean_, mean_before_));
        seen_ = true;
        gradient_.swap(gradient_before_);
        std::copy(mean_.begin(), mean_.end(), mean_before_.begin());
        if (!landscape_.is_known()) return std::nan("");
        return std::sqrt(squared_critical_distance(landscape_.known(), learning_rate, n));
    }

    const landscape_estimate& seen() const noexcept { return landscape_; }

private:
    void take_mean(std::span<float> values, tag label) {
        sum_.start(values, label);
        collectives::run(*through_, sum_);
        kernels::scale(values, 1.0f / static_cast<float>(through_->size()));
    }

    void sum_scalars(std::uint32_t which, std::uint64_t number) {
        scalars_.start(std::span(scalar_).first(1),
                       {channels::gossip, (1u << 30) + 1 + which, number});
        collectives::run(*through_, scalars_);
    }

    Transport* through_;
    collectives::all_reduce<Transport> sum_, scalars_;
    std::array<float, 2> scalar_{};
    large_vector<float> mean_, gradient_, mean_before_, gradient_before_;
    landscape_estimate landscape_;
    bool seen_ = false;
};

}  // namespace sotto
