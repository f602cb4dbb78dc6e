#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sotto/collectives/detail/plan.hpp"
#include "sotto/transports/group.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto::collectives {

/// Sums densely inside a host and exchanges compressed messages between hosts. Each host adds up
/// the gradients that its ranks would otherwise send as messages. The host's first rank compresses
/// the sum, exchanges it with the first ranks of other hosts, and broadcasts the result inside. Of
/// N ranks on H hosts only H compress, and the network carries one message for each host instead of
/// one for each rank.
///
/// Compressors treat a host as one worker. Only the host's first rank keeps compressor memory for
/// these gradients, and local clipping counts hosts. Tensors that are summed anyway (dense vectors,
/// low-rank factors) do not use hosts: every rank packs, clips, sums and remembers them. Clipping
/// by the whole model's norm is refused, because it needs all tensors before any is summed.
///   shape   ranks 0 to m-1 are the first host, m to 2m-1 the second; the last may have fewer
struct hierarchical {
    static constexpr bool sums = false;
    std::int64_t ranks_per_host = 1;  // m, the same on all ranks; 1: each rank is its own host

    void describe(auto&& field) const { field("ranks_per_host", ranks_per_host); }

    /// Range of the ranks on the host of this rank.
    ///   errors  invalid_option unless ranks_per_host is at least 1
    detail::collectives::range host_of(int rank, int world) const;
    /// Index of the host of this rank, from 0.
    std::int64_t host_number(int rank) const noexcept { return rank / ranks_per_host; }
    /// Number of hosts in a world of this size.
    std::int64_t hosts(int world) const noexcept;
};

}  // namespace sotto::collectives

namespace sotto::detail::collectives {

/// The groups of a rank: its host's group and, on a host's first rank, the group of all first
/// ranks. Every rank makes it. It borrows the world and uses its group labels 254 and 255.
class hosts {
public:
    /// Makes both groups; collective over the world.
    hosts(transport_ref world, const sotto::collectives::hierarchical& options);
    hosts(const hosts&) = delete;  // operations refer to the groups
    hosts& operator=(const hosts&) = delete;

    /// Group of the ranks on this host.
    group& inside() noexcept { return inside_; }
    /// True if this rank is the first of its host.
    bool leads() const noexcept { return leaders_.has_value(); }
    /// Requires leads().
    group& leaders() noexcept { return *leaders_; }

private:
    static constexpr std::uint32_t inside_label = 254, leaders_label = 255;

    static std::vector<int> members_inside(transport_ref world,
                                           const sotto::collectives::hierarchical& options);

    static std::vector<int> first_ranks(transport_ref world,
                                        const sotto::collectives::hierarchical& options);

    group inside_;
    std::optional<group> leaders_;
};

}  // namespace sotto::detail::collectives

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/collectives/hierarchical.ipp"
#endif
