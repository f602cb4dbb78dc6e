#pragma once

#include "sotto/transports/detail/tcp/tcp_context.hpp"

#include <algorithm>
#include <memory>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/files/descriptor.hpp"
#include "sotto/core/errors.hpp"

namespace sotto::detail::net {

SOTTO_DECL std::int64_t descriptors_needed(const tcp_options& options) noexcept {
    const std::int64_t others = std::int64_t{options.size} - 1;
    const std::int64_t port = options.size > 1 && options.listener < 0 ? 1 : 0;
    const std::int64_t gathering = port + 1 + (must_be_of_one_user(options) ? 1 : 0), running = 2;
    const std::int64_t meets = options.rank == 0 ? others : 0;
    return descriptors_of_context + 2 * others +
           (options.elastic ? gathering + running + meets : (std::max)(gathering, running));
}

SOTTO_DECL std::string descriptor_shortage(const tcp_options& options, std::int64_t opened) {
    const std::int64_t needed = descriptors_needed(options) - opened;
    const std::int64_t free = free_descriptors(needed);
    if (free >= needed) return {};
    const std::int64_t limit = descriptor_limit();
    return "tcp: rank " + std::to_string(options.rank) + " of " + std::to_string(options.size) +
           " needs " + std::to_string(needed) + " more descriptors and can open " +
           std::to_string(free) + ": raise their limit (ulimit -n) from " + std::to_string(limit) +
           " to at least " + std::to_string(limit + needed - free);
}

SOTTO_DECL tcp_context open_context(const tcp_options& options) {
    open_standard_streams();  // Asio and name resolvers open their own files
    const std::string shortage = descriptor_shortage(options, 0);
    if (free_descriptors(descriptors_of_context) < descriptors_of_context)
        throw io_failure(shortage);
    try {
        auto context = std::make_shared<asio::io_context>();
        asio::ip::tcp::socket first(*context);  // opens Asio's descriptors
        return context;
    } catch (const boost::system::system_error& e) {
        throw io_failure("tcp: rank " + std::to_string(options.rank) +
                         " cannot open what its sockets need: " + e.what());
    }
}

}  // namespace sotto::detail::net
