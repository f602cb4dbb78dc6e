#pragma once

#include <mpi.h>

#include <atomic>
#include <chrono>
#include <exception>

#include "sotto/core/errors.hpp"
#include "sotto/transports/mpi.hpp"

namespace sotto::testing {

inline int world_size() {
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
}

inline int world_rank() {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

/// A number that all ranks of this machine share, at first 0. All of them make it at once.
class shared_count {
public:
    shared_count() {
        void* memory = nullptr;
        const bool mine = world_rank() == 0;
        MPI_Win_allocate_shared(mine ? sizeof(int) : 0, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                                &memory, &window_);
        MPI_Aint size = 0;
        int unit = 0;
        MPI_Win_shared_query(window_, 0, &size, &unit, &memory);
        count_ = static_cast<int*>(memory);
        if (mine) *count_ = 0;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    shared_count(const shared_count&) = delete;
    shared_count& operator=(const shared_count&) = delete;
    ~shared_count() { MPI_Win_free(&window_); }

    void operator++() { std::atomic_ref(*count_).fetch_add(1); }
    operator int() const { return std::atomic_ref(*count_).load(); }

private:
    MPI_Win window_ = MPI_WIN_NULL;
    int* count_ = nullptr;
};

/// What ended a rank's function.
enum class ending { none, peer_failure, mismatch, invalid_option, other_sotto, other };

/// Calls f(transport) on the first `size` ranks, which have a communicator of their own; all ranks
/// call it at once. Returns how it ended on this one, once it has on all.
template <class F>
ending run_over_mpi(int size, const mpi_options& options, F f) {
    MPI_Comm among = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, world_rank() < size ? 0 : MPI_UNDEFINED, world_rank(), &among);
    ending how = ending::none;
    if (among != MPI_COMM_NULL) {
        try {
            mpi endpoint = mpi::join(among, options);
            try {
                f(endpoint);
            } catch (const std::exception& e) {
                endpoint.fail(e.what());
                throw;
            }
        } catch (const peer_failure&) {
            how = ending::peer_failure;
        } catch (const mismatch&) {
            how = ending::mismatch;
        } catch (const invalid_option&) {
            how = ending::invalid_option;
        } catch (const error&) {
            how = ending::other_sotto;
        } catch (const std::exception&) {
            how = ending::other;
        }
        MPI_Comm_free(&among);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return how;
}

template <class F>
ending run_over_mpi(int size, F f) {
    return run_over_mpi(size, {.timeout = std::chrono::seconds(30)}, f);
}

}  // namespace sotto::testing
