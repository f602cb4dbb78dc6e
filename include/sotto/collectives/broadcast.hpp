#pragma once

#include <cstdint>
#include <string>

#include "sotto/collectives/planned.hpp"
#include "sotto/collectives/tree.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/transports/transport.hpp"

namespace sotto::collectives {

namespace detail {
/// The way down of a tree, of values of any type: nothing is added.
struct broadcast_plan : tree_plan {
    static constexpr bool adds = false;
    constexpr broadcast_plan(int rank, int world, int root) noexcept
        : tree_plan(rank, world, ways::down, root) {}
};
}  // namespace detail

/// Gives everybody the root's values. The number of values is the same on all ranks.
///   cost    ceil(log2 N) steps; long messages follow each other in segments, so that steps overlap
///   errors  invalid_option: a root that is no rank
template <transport Transport, class Value = float>
class broadcast : public planned<Transport, detail::broadcast_plan, Value> {
public:
    broadcast(Transport& through, std::int64_t size_max, int root = 0)
        : planned<Transport, detail::broadcast_plan, Value>(
              through,
              detail::broadcast_plan(through.rank(), through.size(), checked(root, through.size())),
              size_max) {}

private:
    static int checked(int root, int world) {
        if (root < 0 || root >= world)
            throw invalid_option("broadcast: the root is " + std::to_string(root) +
                                 "; ranks are 0 to " + std::to_string(world - 1));
        return root;
    }
};

}  // namespace sotto::collectives
