#pragma once

// What all examples share: flags for the transport that ranks talk through, and how a program runs.

#include <sotto/trainer/reports.hpp>
#include <sotto/transports/simulated_options.hpp>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <string>

#include "any_transport.hpp"
#include "checks.hpp"

namespace examples {

enum class transport_kind { in_process, tcp, mpi, simulated };

struct transport_options {
    transport_kind kind = transport_kind::in_process;
    int workers = 4;                // in-process and simulated: ranks
    std::string secret{};           // tcp: a file that all ranks have; empty: none
    bool insecure_network = false;  // tcp: as tcp_options has it
    bool elastic = false;           // tcp: likewise
    double megabits = 1000.0;       // simulated: of every rank's line, a second
    double slow = 1.0;              // simulated: how much slower the last rank computes
    double flops = 50e9;            // simulated: that a rank computes a second
    std::uint64_t seed = 1;         // simulated
};

/// What a simulated network is like: ranks whose steps take times of their own, one of them slow.
sotto::simulated_options network_of(const transport_options& chosen);

/// The flags --transport, --workers, --secret, --insecure-network, --simulated-megabits,
/// --simulated-slow, --simulated-flops and --no-diagnostics. Flags that the transport does not use
/// are refused once all are read.
void add_transport(CLI::App& app, transport_options& chosen);

/// How many ranks there will be; 0: only MPI knows.
///   errors  invalid_option: nobody says
int ranks_of(const transport_options& chosen);

/// Whether this process has that rank, whose files must then be here; only MPI knows its own.
///   errors  as ranks_of
bool has_rank(const transport_options& chosen, int rank);

/// Calls f(transport) for each rank that this process has: all of them in-process, on a thread
/// each, else one.
///   errors  invalid_option: what was chosen cannot be had; what f throws, and the transport
void with_transport(const transport_options& chosen, const std::function<void(any_transport&)>& f);

/// Remembers which output a call of `fit` could not complete. Ranks of one process may call it at
/// once.
sotto::fit_report noted(sotto::fit_report report);

/// A program: reads its flags, does its work and returns what it returns; says what went wrong. It
/// ends with exit_code::output_incomplete if the work is done, and noted output or what was printed
/// is incomplete.
int run(CLI::App& app, int argc, char** argv, const std::function<int()>& work);

}  // namespace examples
