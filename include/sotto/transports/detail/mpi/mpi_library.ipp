#pragma once

#include "sotto/transports/detail/mpi/mpi_library.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/text/print_line.hpp"
#include "sotto/core/exit_code.hpp"

namespace sotto::detail::mpi {

SOTTO_DECL calls::calls(MPI_Comm among) {
    require_success(MPI_Comm_idup(among, own_.get(), &request_), "MPI_Comm_idup");
}

SOTTO_DECL bool calls::done() {
    int is = 0;
    require_success(MPI_Test(&request_, &is, MPI_STATUS_IGNORE), "MPI_Test");
    return is != 0;
}

SOTTO_DECL void calls::broadcast(mutable_byte_view values, int root) {
    require_success(MPI_Ibcast(values.data(), static_cast<int>(values.size()), MPI_BYTE, root,
                               *own_, &request_),
                    "MPI_Ibcast");
}

SOTTO_DECL void calls::all_gather(const int& own, std::span<int> all) {
    require_success(MPI_Iallgather(&own, 1, MPI_INT, all.data(), 1, MPI_INT, *own_, &request_),
                    "MPI_Iallgather");
}

SOTTO_DECL void calls::all_gather(byte_view own, std::span<const int> lengths,
                                  mutable_byte_view all, int apart) {
    offsets_.resize(lengths.size());
    for (std::size_t rank = 0; rank < offsets_.size(); ++rank)
        offsets_[rank] = static_cast<int>(rank) * apart;
    require_success(MPI_Iallgatherv(own.data(), static_cast<int>(own.size()), MPI_BYTE, all.data(),
                                    lengths.data(), offsets_.data(), MPI_BYTE, *own_, &request_),
                    "MPI_Iallgatherv");
}

SOTTO_DECL library::library(std::shared_ptr<session> entered, MPI_Comm among,
                            const mpi_options& options)
    : session_(std::move(entered)), join_(options.join) {
    require_ranks(among);
    MPI_Comm_rank(among, &rank_);
    MPI_Comm_size(among, &size_);
    deadline limit(now(), join_);
    MPI_Request request = MPI_REQUEST_NULL;
    require_success(MPI_Comm_idup(among, own_.get(), &request), "MPI_Comm_idup");
    finish([&] { return complete(request); }, limit, [&] { keep(own_); }, joining);
    MPI_Comm_set_errhandler(*own_, MPI_ERRORS_RETURN);
    require_agreement(options, limit);
}

SOTTO_DECL library::~library() {
    if (!owner_.is_this()) return;  // a child of fork() must not call MPI
    if (!busy()) {
        for (auto& made : collectives_) made->calls().disconnect();
        MPI_Comm_free(own_.get());
        return;
    }
    session_->spoil();
    for (auto& made : collectives_) keep(std::move(made));
}

SOTTO_DECL library::operation library::send(int to, net::packet_kind kind, byte_view out) {
    MPI_Request request = MPI_REQUEST_NULL;
    require_success(MPI_Isend(out.data(), static_cast<int>(out.size()), MPI_BYTE, to,
                              static_cast<int>(kind), *own_, &request),
                    "MPI_Isend");
    return request;
}

SOTTO_DECL std::optional<library::packet> library::next(net::packet_kind kind) {
    packet found;
    MPI_Status status{};
    int there = 0, size = 0;
    require_success(
        MPI_Improbe(MPI_ANY_SOURCE, static_cast<int>(kind), *own_, &there, &found.message, &status),
        "MPI_Improbe");
    if (there == 0) return std::nullopt;
    MPI_Get_count(&status, MPI_BYTE, &size);
    found.source = status.MPI_SOURCE;
    found.size = static_cast<std::size_t>(size);
    return found;
}

SOTTO_DECL library::operation library::receive(packet came, mutable_byte_view in) {
    MPI_Request request = MPI_REQUEST_NULL;
    require_success(
        MPI_Imrecv(in.data(), static_cast<int>(in.size()), MPI_BYTE, &came.message, &request),
        "MPI_Imrecv");
    return request;
}

SOTTO_DECL bool library::complete(operation& in_flight) {
    int done = 0;
    require_success(MPI_Test(&in_flight, &done, MPI_STATUS_IGNORE), "MPI_Test");
    return done != 0;
}

SOTTO_DECL void library::pause(duration waited, bool moves, time_point) const {
    net::pause_in_real_time(waited, moves);
}

SOTTO_DECL bool library::advance() {
    bool any = false;
    for (auto& made : collectives_) any = (made->busy() && made->move_on()) || any;
    return any;
}

SOTTO_DECL bool library::busy() const noexcept {
    return std::any_of(collectives_.begin(), collectives_.end(),
                       [](const auto& made) { return made->busy(); });
}

SOTTO_DECL void library::end_job(std::string_view why) noexcept {
    print_line(stderr,
               "sotto: mpi: rank " + std::to_string(rank_) + " ends the job: " + std::string(why));
    std::fflush(stderr);
    // For a smaller communicator, MPICH 4.0 waits for its operations in flight.
    MPI_Abort(MPI_COMM_WORLD, static_cast<int>(exit_code::peer));
    std::abort();
}

SOTTO_DECL const std::vector<std::unique_ptr<collective>>& library::collectives() const noexcept {
    return collectives_;
}

SOTTO_DECL void library::require_ranks(MPI_Comm among) {
    if (among == MPI_COMM_NULL)
        throw invalid_option("mpi: the communicator is MPI_COMM_NULL: this process is not in it");
    int is = 0;
    MPI_Comm_test_inter(among, &is);
    if (is != 0)
        throw invalid_option(
            "mpi: ranks on both sides of an intercommunicator cannot join; MPI_Intercomm_merge "
            "makes them ranks of one");
    int size = 0;
    MPI_Comm_size(among, &size);
    if (size > 1 || among != MPI_COMM_WORLD) return;
    // The launcher of another MPI starts processes that do not know each other.
    for (const char* const told : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE"})
        if (const char* const value = std::getenv(told); value && std::atoi(value) > 1)
            throw mismatch("mpi: " + std::string(told) + " says that this process is one of " +
                           value + ", but " + library_version() +
                           " knows of it alone: the program and what started it are of "
                           "different MPI libraries. Join MPI_COMM_SELF if it is to be alone");
}

SOTTO_DECL void library::require_agreement(const mpi_options& options, deadline& limit) {
    static constexpr std::array<const char*, 3> names{"version of the protocol", "budget",
                                                      "native_collectives"};
    using values = std::array<std::int64_t, names.size()>;
    const values mine{2, options.budget, options.native_collectives ? 1 : 0};
    const std::vector<values> all = gather(mine, limit, joining);
    for (std::size_t rank = 1; rank < all.size(); ++rank)
        for (std::size_t i = 0; i < names.size(); ++i)
            if (all[rank][i] != all[0][i])
                throw mismatch("mpi: rank " + std::to_string(rank) + " has " + names[i] + " " +
                               std::to_string(all[rank][i]) + " where rank 0 has " +
                               std::to_string(all[0][i]));
}

}  // namespace sotto::detail::mpi
