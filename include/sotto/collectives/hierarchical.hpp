#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sotto/collectives/detail/plan.hpp"
#include "sotto/transports/group.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto::collectives {

/// Dense inside a host, compressed between hosts: what ranks of one host would send as messages is
/// added up there, the host's first rank compresses the sum and exchanges it with the first ranks
/// of other hosts, and the result is spread inside. Of N ranks on H hosts only H compress, and what
/// crosses the network is a host's message instead of one for each rank.
///
/// To compressors a host is a worker: only its first rank remembers anything of what goes so, and
/// local clipping counts hosts. What is summed anyway (dense vectors, low-rank factors) is packed,
/// clipped, summed and remembered by every rank as without hosts.
/// The clipping of a whole model's norm needs all tensors before any is added up: it is refused.
///   shape   ranks 0 to m-1 are the first host, m to 2m-1 the second; the last may have fewer
struct hierarchical {
    static constexpr bool sums = false;
    std::int64_t ranks_per_host = 1;  // m, the same on all ranks; 1: every rank by itself

    void describe(auto&& field) const { field("ranks_per_host", ranks_per_host); }

    /// The ranks of a world that share a rank's host.
    ///   errors  invalid_option unless ranks_per_host is at least 1
    detail::collectives::range host_of(int rank, int world) const;
    /// The host of a rank, from 0 on.
    std::int64_t host_number(int rank) const noexcept { return rank / ranks_per_host; }
    /// Hosts of a world of so many ranks.
    std::int64_t hosts(int world) const noexcept;
};

}  // namespace sotto::collectives

namespace sotto::detail::collectives {

/// The groups of a rank: its host's, and the first ranks' if it is one of these. It borrows the
/// world, whose groups with the labels 254 and 255 it takes; every rank makes it.
class hosts {
public:
    /// Makes both groups; collective over the world.
    hosts(transport_ref world, const sotto::collectives::hierarchical& options);
    hosts(const hosts&) = delete;  // operations refer to the groups
    hosts& operator=(const hosts&) = delete;

    /// The ranks of this host.
    group& inside() noexcept { return inside_; }
    /// Whether this rank is its host's first.
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
