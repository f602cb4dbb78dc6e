#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "sotto/collectives/detail/planned.hpp"
#include "sotto/collectives/tree.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto::detail::collectives {

/// The downward half of a tree, for values of any type: nothing is added.
struct broadcast_plan : tree_plan {
    static constexpr bool adds = false;
    constexpr broadcast_plan(int rank, int world, int root) noexcept
        : tree_plan(rank, world, ways::down, root) {}
};

/// Sends the root's values to all ranks. The number of values, size_max and the root are the same
/// on all ranks.
///   cost    ceil(log2 N) steps. Long messages travel in segments, so steps overlap. If the
///           transport has its own broadcast, the cost of that and a copy
///   errors  invalid_option: a root that is no rank, and as planned
template <class Value = float>
class broadcast {
    using by_messages = planned<broadcast_plan, Value>;

public:
    /// For at most `size_max` values from this root.
    broadcast(transport_ref through, std::int64_t size_max, int root = 0) : size_max_(size_max) {
        const broadcast_plan plan(through.rank(), through.size(), checked(root, through.size()));
        {
            if (size_max >= 0 && size_max <= INT64_MAX / std::int64_t{sizeof(Value)})
                native_ = through.native_broadcast(size_max * std::int64_t{sizeof(Value)}, root);
            if (native_) return;
        }
        messages_.emplace(through, plan, size_max);
    }

    /// Maximum number of values of one broadcast.
    std::int64_t size_max() const noexcept { return size_max_; }

    void start(std::span<Value> values, tag label) {
        if (native_) {
            if (static_cast<std::int64_t>(values.size()) > size_max_)
                throw invalid_option("broadcast: " + std::to_string(values.size()) +
                                     " values, but bound for at most " + std::to_string(size_max_));
            return native_.start(std::as_writable_bytes(values));
        }
        messages_->start(values, label);
    }

    bool advance() {
        if (native_) return native_.advance();
        return messages_->advance();
    }

private:
    static int checked(int root, int world) {
        if (root < 0 || root >= world)
            throw invalid_option("broadcast: the root is " + std::to_string(root) +
                                 "; ranks are 0 to " + std::to_string(world - 1));
        return root;
    }

    std::int64_t size_max_;
    std::optional<by_messages> messages_;
    native_collective native_;
};

}  // namespace sotto::detail::collectives
