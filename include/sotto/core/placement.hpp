#pragma once

#include <cstdint>
#include <string>

#include "sotto/core/config.hpp"

namespace sotto {

/// Rank of a process in its job, and the address where the ranks meet, as a launcher reports them.
struct placement {
    int rank = 0;                       // rank of this process
    int size = 1;                       // number of ranks in the job
    int local_rank = -1;                // rank among those on this machine; -1: unknown
    int local_size = -1;                // number of ranks on this machine; -1: unknown
    std::string address = "127.0.0.1";  // address of rank 0
    std::uint16_t port = 29500;         // port on which rank 0 listens
    std::string bind{};      // address at which others reach this process; empty: detect it
    std::string launcher{};  // name of the launcher, for people

    void describe(auto&& field) const {
        field("launcher", launcher);
        field("rank", rank);
        field("size", size);
        field("local_rank", local_rank);
        field("local_size", local_size);
        field("address", address);
        field("port", port);
        field("bind", bind);
    }
};

}  // namespace sotto
