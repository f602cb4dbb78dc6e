#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "sotto/compressors/compressor.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/core/visit.hpp"
#include "sotto/strategies/detail/parameter_server/changed_entries.hpp"
#include "sotto/strategies/detail/parameter_server/entry_room.hpp"
#include "sotto/strategies/detail/server_memory.hpp"
#include "sotto/strategies/parameter_server/consistency/consistency.hpp"
#include "sotto/wire/detail/protocols/push.hpp"

namespace sotto::detail {

/// Adds up what a state shows, by the names of its parts.
struct shown_bytes {
    server_memory& to;

    void operator()(std::string_view name, std::span<float> values, kept = kept::alike) const;
    void operator()(std::string_view name, std::int64_t&, kept = kept::alike) const;
    void operator()(std::string_view name, double&, kept = kept::alike) const { add(name, 8); }

private:
    void add(std::string_view name, std::int64_t bytes) const;
};

/// Different versions that workers can have read at once: those of a round and of the one before,
/// and what backup workers still hold; else one for each worker.
template <class Consistency>
std::int64_t versions_max(const Consistency& options, std::int64_t workers) {
    if constexpr (bulk_consistency<Consistency>) {
        std::int64_t late = 0;
        if constexpr (requires { options.backups; }) late = options.backups;
        return (std::min)(workers, 2 + late);
    }
    return workers;
}

/// The longest push to a server.
template <class Server>
std::int64_t push_bytes_max(const Server& server) {
    auto most = static_cast<std::int64_t>(wire::push_head_bytes(server.tensors().tensors().size()));
    for (const tensor& t : server.tensors())
        most += compressing::message_bytes_max(server.decoder(), t);
    const std::size_t first = wire::push_head_bytes(1) + wire::configuration_bytes_max;
    return (std::max)(most, static_cast<std::int64_t>(first));
}

/// What a shard_server of these options takes, with the memory in which pushes are received.
template <class Options, class Server>
server_memory memory_of(Server& server, const Options& options, int workers) {
    const std::int64_t own = server.tensors().size(), push = push_bytes_max(server);
    server_memory found{
        .parameters = 8 * own,
        .versions = 4 * own * versions_max(options.consistency, workers),
        .messages = push + compressing::decoding_bytes(server.decoder(), server.tensors())};
    server.visit(detail::shown_bytes{found});
    if constexpr (Server::watches) {
        std::int64_t largest = 0;
        for (const tensor& t : server.tensors()) largest = (std::max)(largest, t.size);
        found.compensator += 4 * largest;  // what a step has moved
    }
    const auto state = options.consistency.bind(workers);
    if (state.collects()) found.messages += workers * push;
    if constexpr (Server::by_entries) {
        const entry_room& room = server.room();
        found.changes = changed_entries::bytes_max(own);
        found.messages += 8 * (room.pushed + room.answered) + workers * room.answer_bytes;
    }
    return found;
}

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/detail/parameter_server/memory_of_server.ipp"
#endif
