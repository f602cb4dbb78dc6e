#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

#include "sotto/consistency/consistency.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/core/visit.hpp"
#include "sotto/strategies/changed_entries.hpp"
#include "sotto/strategies/server_memory.hpp"
#include "sotto/strategies/shard.hpp"

namespace sotto {

namespace detail {
/// Adds up what a state shows, by the names of its parts.
struct shown_bytes {
    server_memory& to;

    void operator()(std::string_view name, std::span<float> values, kept = kept::alike) const {
        add(name, static_cast<std::int64_t>(values.size_bytes()));
    }
    void operator()(std::string_view name, std::int64_t&, kept = kept::alike) const {
        add(name, 8);
    }
    void operator()(std::string_view name, double&, kept = kept::alike) const { add(name, 8); }

private:
    void add(std::string_view name, std::int64_t bytes) const {
        if (name.starts_with("optimizer/")) to.optimizer += bytes;
        if (name.starts_with("compensator/")) to.compensator += bytes;
    }
};
}  // namespace detail

/// Different versions that workers can have read at once: those of a round and of the one before,
/// and what backup workers still hold; else one for each worker.
template <class Consistency>
std::int64_t versions_max(const Consistency& options, std::int64_t workers) {
    if constexpr (bulk_consistency<Consistency>) {
        std::int64_t late = 0;
        if constexpr (requires { options.backups; }) late = options.backups;
        return std::min(workers, 2 + late);
    }
    return workers;
}

/// What a shard_server of these options will take, with `push_bytes_max` for a push.
template <class Options, class Server>
server_memory memory_of(Server& server, const Options& options, const layout& tensors,
                        const shard& part, int workers, std::int64_t push_bytes_max) {
    const std::int64_t own = part.size_of(tensors);
    server_memory found{.parameters = 4 * (own + tensors.size()),
                        .versions = 4 * own * versions_max(options.consistency, workers),
                        .messages = push_bytes_max};
    server.visit(detail::shown_bytes{found});
    const auto state = options.consistency.bind(workers);
    if (state.collects()) found.messages += workers * push_bytes_max;
    if (Server::by_entries) {
        found.changes = changed_entries::bytes_max(own);
        found.messages += workers * changed_entries::answer_bytes_max(own);
    }
    return found;
}

}  // namespace sotto
