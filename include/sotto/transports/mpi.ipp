#pragma once

#include "sotto/transports/mpi.hpp"

#include <string>

#include "sotto/core/clock.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"

namespace sotto {

SOTTO_DECL mpi mpi::join(const mpi_options& options) {
    return {detail::mpi::session::enter(), MPI_COMM_WORLD, options};
}

SOTTO_DECL mpi mpi::join(MPI_Comm among, const mpi_options& options) {
    return {detail::mpi::session::enter(), among, options};
}

SOTTO_DECL detail::mpi::native_broadcast* mpi::native_broadcast(std::int64_t bytes_max, int root) {
    return make<detail::mpi::native_broadcast>({kind::broadcast, root, bytes_max}, bytes_max, root,
                                               rank(), size());
}

SOTTO_DECL detail::mpi::native_all_gather* mpi::native_all_gather(std::int64_t bytes_max) {
    return make<detail::mpi::native_all_gather>({kind::all_gather, 0, bytes_max}, bytes_max,
                                                size());
}

SOTTO_DECL void mpi::release(detail::mpi::collective* lent) noexcept {
    if (lent->complete()) lent->forget();
}

SOTTO_DECL traffic mpi::counters() const noexcept {
    traffic all = base::counters();
    for (const auto& made : library().collectives()) {
        const traffic& carried = made->carried();
        all.bytes_sent += carried.bytes_sent;
        all.bytes_received += carried.bytes_received;
        all.messages_sent += carried.messages_sent;
        all.messages_received += carried.messages_received;
    }
    return all;
}

SOTTO_DECL detail::net::packet_options mpi::checked(const mpi_options& options) {
    const detail::net::packet_options made{options.timeout, options.budget, options.transfers};
    made.require_possible("mpi");
    if (options.join <= duration::zero())
        throw invalid_option("mpi: join is " + std::to_string(options.join.count()) +
                             " ns; it must be above 0");
    return made;
}

}  // namespace sotto
