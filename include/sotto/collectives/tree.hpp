#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "sotto/collectives/detail/plan.hpp"
#include "sotto/collectives/detail/planned.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"
#include "sotto/wire/value_format.hpp"

namespace sotto::detail::collectives {

/// Sums travel up a binomial tree to its root and down again. A plan can also have one direction
/// only.
///   math    with ranks counted from the root, rank v adds the sums of its children in the order
///           v+1, v+2, v+4, ... (while these exist and are below its own parent's next child)
///   cost    ceil(log2 N) steps in each direction; 2(N-1) messages in all. A rank sends n values to
///           each child and to its parent
class tree_plan {
public:
    static constexpr bool adds = true;
    /// Directions of the tree.
    ///   both  up, then down
    ///   up    sums to the root
    ///   down  the root's values to all
    enum class ways : std::uint8_t { both, up, down };

    /// Plan of one rank in a world of this size.
    constexpr tree_plan(int rank, int world, ways which = ways::both, int root = 0) noexcept
        : place_((rank - root + world) % world), root_(root), world_(world), which_(which) {
        const unsigned lowest =
            static_cast<unsigned>(place_) & (0u - static_cast<unsigned>(place_));
        const int reach =
            place_ == 0 ? world : (std::min)(static_cast<int>(lowest), world - place_);
        children_ =
            static_cast<int>(std::bit_width(static_cast<unsigned>((std::max)(reach - 1, 0))));
    }

    constexpr void begin(std::int64_t n) noexcept { all_ = {0, n}; }

    constexpr int steps() const noexcept { return (which_ == ways::both ? 2 : 1) * way(); }

    constexpr step at(int k) const noexcept {
        if (which_ != ways::down && k < way()) {
            if (k == children_) return {parent(), all_, nobody, {}, {}};
            const bool last = place_ == 0 && k == children_ - 1;
            return {nobody, {}, child(k), all_, last ? arrival::add_last : arrival::add};
        }
        // The same steps in reverse order.
        const int mirrored = way() - 1 - (which_ == ways::both ? k - way() : k);
        if (mirrored == children_) return {nobody, {}, parent(), all_, arrival::replace};
        return {child(mirrored), all_, nobody, {}, {}};
    }

private:
    constexpr int way() const noexcept { return children_ + (place_ == 0 ? 0 : 1); }
    constexpr int rank_at(int place) const noexcept { return (place + root_) % world_; }
    constexpr int child(int index) const noexcept { return rank_at(place_ + (1 << index)); }
    constexpr int parent() const noexcept { return rank_at(place_ & (place_ - 1)); }

    int place_;  // rank, counted from the root
    int root_;
    int world_;
    ways which_;
    int children_;
    range all_;
};

}  // namespace sotto::detail::collectives

namespace sotto::collectives {

/// All-reduce with this plan, see planned.
using tree_all_reduce = detail::collectives::planned<detail::collectives::tree_plan>;

/// Sums by a tree: the fewest messages. For a few hundred bytes.
struct tree {
    static constexpr bool sums = true;

    auto bind(transport_ref through, std::int64_t size_max,
              wire::value_format format = wire::value_format::fp32) const {
        return tree_all_reduce(through,
                               detail::collectives::tree_plan(through.rank(), through.size()),
                               size_max, format);
    }
};

}  // namespace sotto::collectives
