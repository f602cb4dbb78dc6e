#pragma once

#include <cstdint>
#include <string>

#include "sotto/core/config.hpp"

namespace sotto {

/// Which rank of a job a process is, and where the job meets: what launchers tell.
struct placement {
    int rank = 0;                       // of this process
    int size = 1;                       // ranks of the job
    int local_rank = -1;                // among the ranks of this machine; -1: not known
    int local_size = -1;                // ranks on this machine; -1: not known
    std::string address = "127.0.0.1";  // where rank 0 is
    std::uint16_t port = 29500;         // where rank 0 listens
    std::string bind{};                 // the own address that others are to use; empty: found out
    std::string launcher{};             // who placed it, for people

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
