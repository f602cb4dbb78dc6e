#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "sotto/transports/detail/messaging/ballot_transport.hpp"
#include "sotto/transports/detail/mpi/mpi_library.hpp"
#include "sotto/transports/detail/mpi/mpi_session.hpp"
#include "sotto/transports/mpi_options.hpp"
#include "sotto/transports/packet_options.hpp"
#include "sotto/transports/packet_transport.hpp"
#include "sotto/transports/transport.hpp"

namespace sotto {

/// Transport between processes that MPI connects: MPI 3, through its C interface.
///
/// Messages above 8 KiB travel from the lent memory to the receiver's memory without a copy other
/// than MPI's own. Bytes move while a rank is inside the transport, as always with MPI. If a
/// process dies, MPI ends the job. If a rank throws or is late, all other ranks name it.
///
/// If the program initialised MPI, MPI stays initialised. Otherwise the last sotto::mpi finalises
/// MPI when it is destroyed, which must be before the program finalises MPI itself. The destructor
/// waits until all ranks have called theirs, as MPI_Finalize does.
///   memory  see packet_transport; all_gather keeps bytes_max for each rank, broadcast bytes_max
///   errors  as in_process. A send may complete before it is received, so a later call reports a
///           failure at the receiver. io_failure: an error of MPI
class mpi : public detail::net::packet_transport<detail::mpi::library> {
    using base = detail::net::packet_transport<detail::mpi::library>;

public:
    /// Joins the ranks of MPI_COMM_WORLD. Returns once all of them have called it.
    ///   errors  invalid_option: a communicator without ranks that can join, invalid options, or
    ///           MPI does not allow this thread to call it. mismatch: another rank has other
    ///           options, or another MPI's launcher started the job. error (timed_out): some ranks
    ///           did not join
    static mpi join(const mpi_options& options = {});
    /// The same for the ranks of another communicator.
    static mpi join(MPI_Comm among, const mpi_options& options = {});

    detail::mpi::native_barrier* native_barrier() { return make<detail::mpi::native_barrier>({}); }
    detail::mpi::native_broadcast* native_broadcast(std::int64_t bytes_max, int root);
    detail::mpi::native_all_gather* native_all_gather(std::int64_t bytes_max);
    void release(detail::mpi::collective* lent) noexcept;

    traffic counters() const noexcept;

    void describe(auto&& field) const {
        field("library", detail::mpi::library_version());
        field("rank", rank());
        field("size", size());
    }

private:
    using kind = detail::mpi::collective_terms::kind;

    mpi(std::shared_ptr<detail::mpi::session> entered, MPI_Comm among, const mpi_options& options)
        : base(checked(options), std::move(entered), among, options),
          native_(options.native_collectives) {}

    static detail::net::packet_options checked(const mpi_options& options);

    template <class Collective, class... From>
    Collective* make(const detail::mpi::collective_terms& terms, const From&... from) {
        begin();
        return native_ ? library().make<Collective>(terms, from...) : nullptr;
    }

    bool native_;
};

static_assert(detail::ballot_transport<mpi> && !tolerant_transport<mpi>);

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/mpi.ipp"
#endif
