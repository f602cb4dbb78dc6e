// What sotto does to MPI itself: each way of starting needs a process of its own, so this program
// is run once for each.

#include <mpi.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/transports/mpi.hpp"

namespace {

int failures = 0;

void check(bool holds, const char* what) {
    if (holds) return;
    std::printf("wrong: %s\n", what);
    ++failures;
}

bool is_finalised() {
    int is = 0;
    MPI_Finalized(&is);
    return is != 0;
}

/// The rank before this one's number, which it sent.
void say_hello(sotto::mpi& t) {
    std::int32_t own = t.rank(), other = -1;
    const auto view = [](std::int32_t& value) {
        return std::as_writable_bytes(std::span(&value, 1));
    };
    const auto received = t.receive(sotto::any_rank, {}, view(other));
    t.wait(t.send((t.rank() + 1) % t.size(), {}, view(own)));
    t.wait(received);
    check(other == (t.rank() + t.size() - 1) % t.size(), "the message of the rank before");
}

/// Nobody has initialised MPI.
void alone() {
    {
        sotto::mpi first = sotto::mpi::join();
        {
            sotto::mpi second = sotto::mpi::join();
            say_hello(second);
        }
        check(!is_finalised(), "not finalised while a transport is left");
        std::thread([&] { say_hello(first); }).join();  // one thread after the other may
    }
    check(is_finalised(), "finalised by the last transport");
    try {
        (void)sotto::mpi::join();
        check(false, "joining again is refused");
    } catch (const sotto::invalid_option& e) {
        check(std::string(e.what()).find("finalised in this process already") != std::string::npos,
              e.what());
    }
}

/// The program has, for its main thread alone.
void funneled() {
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
    {
        sotto::mpi t = sotto::mpi::join();
        say_hello(t);
        if (provided == MPI_THREAD_FUNNELED)
            std::thread([&] {
                try {
                    (void)t.agree(true);
                    check(false, "another thread is refused");
                } catch (const std::logic_error& e) {
                    check(std::string(e.what()) ==
                              "mpi: called from another thread, which needs MPI_THREAD_SERIALIZED, "
                              "but MPI was initialised with MPI_THREAD_FUNNELED: pass it to "
                              "MPI_Init_thread",
                          e.what());
                }
            }).join();
    }
    check(!is_finalised(), "the program's MPI is left to it");
    {
        sotto::mpi again = sotto::mpi::join();
        say_hello(again);
    }
    MPI_Finalize();
}

/// The program has, for a process without threads.
void single() {
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SINGLE, &provided);
    if (provided == MPI_THREAD_SINGLE) {
        try {
            (void)sotto::mpi::join();
            check(false, "too low a level is refused");
        } catch (const sotto::invalid_option& e) {
            check(std::string(e.what()) ==
                      "mpi: called from the main thread, which needs MPI_THREAD_FUNNELED, but MPI "
                      "was initialised with MPI_THREAD_SINGLE: pass it to MPI_Init_thread",
                  e.what());
        }
    }
    MPI_Finalize();
}

/// It says that it is one of several, and is not.
void strangers() {
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
    ::setenv("PMI_SIZE", "4", 1);
    try {
        (void)sotto::mpi::join();
        check(false, "processes that do not know of each other are refused");
    } catch (const sotto::mismatch& e) {
        check(std::string(e.what()).find("PMI_SIZE says that this process is one of 4") !=
                  std::string::npos,
              e.what());
    }
    {
        sotto::mpi t = sotto::mpi::join(MPI_COMM_SELF);
        check(t.size() == 1, "who means to be alone may be");
    }
    MPI_Finalize();
}

/// A rank hangs while another one sends to it: the job ends, instead of hanging as well.
void hung() {
    sotto::mpi t = sotto::mpi::join({.timeout = std::chrono::seconds(1)});
    while (t.rank() == 1) std::this_thread::yield();
    const std::vector<std::byte> lent(1'000'000);
    t.wait(t.send(1, {}, lent));
}

/// A rank comes once the other one has given up: by then its memory is the program's again.
void late() {
    int provided = 0, rank = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    alignas(sotto::mpi) std::array<std::byte, sizeof(sotto::mpi)> room;
    if (rank == 0) {
        try {
            new (room.data())
                sotto::mpi(sotto::mpi::join({.join = std::chrono::milliseconds(100)}));
            check(false, "who waits in vain gives up");
        } catch (const sotto::error& e) {
            check(e.code() == sotto::errc::timed_out, "by its deadline");
            check(std::string(e.what()) ==
                      "mpi: rank 0 of 2 joins, and not all others came in time; "
                      "mpi_options::join sets the limit",
                  e.what());
        }
        room.fill(std::byte{0x5a});
    }
    int given_up = 0;
    if (rank == 0) MPI_Send(&given_up, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    if (rank == 1) {
        MPI_Recv(&given_up, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Comm made = MPI_COMM_NULL;
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Comm_idup(MPI_COMM_WORLD, &made, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < 100; ++i) MPI_Barrier(MPI_COMM_WORLD);  // rank 0's is made in one of these
    if (rank == 0)
        check(std::all_of(room.begin(), room.end(),
                          [](std::byte one) { return one == std::byte{0x5a}; }),
              "MPI does not write where the transport was to be");
    MPI_Finalize();
}

/// For ever is a time like others.
void patient() {
    sotto::mpi t =
        sotto::mpi::join({.timeout = sotto::duration::max(), .join = sotto::duration::max()});
    check(t.native_barrier() != nullptr, "a collective is made");
    say_hello(t);
}

/// A child of fork() unwinds through the transport: its parent's job goes on.
void forked() {
    const ::pid_t parent = ::getpid();
    int status = 0;
    try {
        sotto::mpi t = sotto::mpi::join();
        say_hello(t);
        const ::pid_t child = ::fork();
        if (child == 0) {
            ::alarm(60);  // it hangs: it is killed
            throw std::domain_error("in a child");
        }
        ::waitpid(child, &status, 0);
        say_hello(t);
        check(t.agree(true), "a vote after the child has ended");
    } catch (const std::domain_error&) {
        ::_exit(::getpid() == parent ? 8 : 7);
    }
    check(WIFEXITED(status) && WEXITSTATUS(status) == 7, "the child unwinds and ends");
    check(is_finalised(), "finalised by the parent");
}

}  // namespace

int main(int argc, char** argv) {
    const std::string way = argc == 2 ? argv[1] : "";
    try {
        if (way == "alone")
            alone();
        else if (way == "funneled")
            funneled();
        else if (way == "single")
            single();
        else if (way == "strangers")
            strangers();
        else if (way == "hung")
            hung();
        else if (way == "late")
            late();
        else if (way == "patient")
            patient();
        else if (way == "forked")
            forked();
        else
            check(false,
                  "usage: mpi_sessions alone|funneled|single|strangers|hung|late|patient|forked");
    } catch (const std::exception& e) {
        check(false, e.what());
    }
    return failures == 0 ? 0 : 1;
}
