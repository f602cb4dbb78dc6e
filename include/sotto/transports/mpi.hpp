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

/// The transport between processes that MPI connects: MPI 3, through its C interface.
///
/// Messages above 8 KiB go from the memory that was lent and arrive where they are wanted, without
/// a copy but MPI's own. They move while a rank is inside of the transport, as always with MPI.
/// That a process dies is MPI's matter, which ends the job; a rank that throws or is late is named
/// at all others.
///
/// A program that has initialised MPI finds it so afterwards; else it is finalised when the last
/// sotto::mpi goes, which must be before the program finalises MPI itself. The destructor waits
/// until all ranks have come to theirs, as MPI_Finalize does.
///   memory  see packet_transport; all_gather keeps bytes_max for each rank, broadcast bytes_max
///   errors  as in_process; a send may complete before it is received, so that what fails at the
///           receiver is told to a later call. io_failure: what MPI says
class mpi : public detail::net::packet_transport<detail::mpi::library> {
    using base = detail::net::packet_transport<detail::mpi::library>;

public:
    /// Meets the other ranks of a communicator: returns once all have called it.
    ///   errors  invalid_option: a communicator that has no ranks to join, options that cannot
    ///           work, MPI that does not allow this thread to call it; mismatch: other options at
    ///           another rank, a launcher of another MPI; error (timed_out): some never came
    static mpi join(const mpi_options& options = {});
    /// The same of the ranks of another communicator.
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
