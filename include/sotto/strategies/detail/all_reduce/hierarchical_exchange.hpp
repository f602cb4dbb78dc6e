#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sotto/collectives/detail/broadcast.hpp"
#include "sotto/collectives/detail/planned.hpp"
#include "sotto/collectives/hierarchical.hpp"
#include "sotto/collectives/tree.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/strategies/detail/all_reduce/flat_exchange.hpp"
#include "sotto/strategies/detail/all_reduce/tensor_exchange.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto::detail {

/// In a hierarchy: up a tree to the host's first rank, as a host's message to the other hosts, and
/// the sum down again. A tensor that is summed goes the way of a flat_exchange without hosts.
///   cost    4 bytes a weight for the host's sum, besides those of collectives and, on the first
///           rank of a host, of a flat_exchange among hosts
class hierarchical_exchange final : public tensor_exchange {
    using climb = collectives::planned<collectives::tree_plan>;
    using descent = collectives::broadcast<>;

public:
    /// `gives`: of each host, whether any rank of it has a gradient in the round under way.
    hierarchical_exchange(const tensor& t, const sotto::collectives::hierarchical& hosts,
                          const exchange_ways& ways, message_codec& codec, transport_ref through,
                          const std::vector<std::uint8_t>& gives, bucket* group);

    const bucket* together() const noexcept override;
    /// Inside the host the gradient stays dense.
    std::int64_t send(std::span<const float> gradient, std::int64_t round) override;
    std::int64_t send_nothing(std::span<const float> zeros, std::int64_t round) override;
    bool advance() override;
    void abandon() noexcept override;
    void decode(std::span<float> sum) override;
    outcome take_outcome() noexcept override;

private:
    enum class phase : std::uint8_t { climbing, between, descending, complete };

    std::span<float> values() noexcept;

    tag label(std::uint32_t channel) const noexcept;

    /// The last value counts the ranks of the host that have a gradient.
    void start(float gradients, std::int64_t round);

    /// What the compressor was told of this rank's own gradient holds for the host's no longer.
    void send_sum();

    void descend() { descent_->start(values(), label(channels::messages)); }

    message_codec& codec_;
    collectives::hosts hosts_;
    std::vector<float> payload_;  // the host's sum, then everybody's
    phase now_ = phase::complete;
    std::int64_t round_ = 0;
    std::optional<flat_exchange> flat_;  // from here on last: transfers end before the memory goes
    std::optional<climb> climb_;
    std::optional<flat_exchange> between_;
    std::optional<descent> descent_;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/detail/all_reduce/hierarchical_exchange.ipp"
#endif
