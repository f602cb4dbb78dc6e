#pragma once

#include <chrono>

#include "sotto/core/clock.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/require_option.hpp"
#include "sotto/strategies/detail/gossip/gossip_peers.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto::detail {

/// Whether gossip goes on when ranks are lost.
template <class Options>
inline constexpr bool survives_losses = requires(const Options& o) {
    o.options.patience;
};

/// For gossip that ends when a rank is lost.
struct no_peers {};
/// What one rank of gossip keeps of the others: nothing where none may be lost.
template <class Options>
struct peers_of_gossip {
    /// Nothing.
    using type = no_peers;
    /// Nothing.
    static type made_for(const Options&, transport_ref) { return {}; }
};
/// The others as one rank sees them, where ranks may be lost.
template <class Options>
    requires survives_losses<Options>
struct peers_of_gossip<Options> {
    /// What it keeps.
    using type = gossip_peers;
    ///   errors  invalid_option: patience not above 0
    static type made_for(const Options& options, transport_ref through) {
        const double patience = options.options.patience;
        require_option("gossip", "patience in seconds", patience, allowed::above(0.0).at_most(1e9));
        return type(through,
                    std::chrono::duration_cast<duration>(std::chrono::duration<double>(patience)));
    }
};

}  // namespace sotto::detail
