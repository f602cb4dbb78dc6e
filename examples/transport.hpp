#pragma once

// Shared by all examples: flags that select the transport, and the function that runs a program.

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
    int workers = 4;                // in-process and simulated: number of ranks
    std::string secret{};           // tcp: file that all ranks have; empty: no secret
    bool insecure_network = false;  // tcp: see tcp_options
    bool elastic = false;           // tcp: see tcp_options
    double megabits = 1000.0;       // simulated: rate of every rank's line, in Mbit/s
    double slow = 1.0;              // simulated: slowdown factor of the last rank
    double flops = 50e9;            // simulated: floating-point operations a second of a rank
    std::uint64_t seed = 1;         // simulated: seed of the network
};

/// Returns the options of the simulated network. Step times differ by rank, and the last rank is
/// slower by the factor `slow`.
sotto::simulated_options network_of(const transport_options& chosen);

/// Adds the flags --transport, --workers, --secret, --insecure-network, --simulated-megabits,
/// --simulated-slow, --simulated-flops and --no-diagnostics. After parsing, refuses flags that the
/// selected transport does not use.
void add_transport(CLI::App& app, transport_options& chosen);

/// Returns the number of ranks; 0 with mpi, where only MPI knows it.
///   errors  invalid_option: with tcp, no launcher and no SOTTO_RANK places this process
int ranks_of(const transport_options& chosen);

/// True if this process runs that rank, so that the rank's files must be on this machine. False
/// with mpi, where only MPI knows the rank.
///   errors  as ranks_of
bool has_rank(const transport_options& chosen, int rank);

/// Calls f(transport) for each rank of this process. With in-process and simulated these are all
/// ranks, with tcp and mpi it is one.
///   errors  invalid_option: this build lacks the selected transport; errors of f and the transport
void with_transport(const transport_options& chosen, const std::function<void(any_transport&)>& f);

/// Stores which output a call of `fit` could not complete, and returns the report. Ranks of one
/// process may call it concurrently.
sotto::fit_report noted(sotto::fit_report report);

/// Runs a program: parses its flags, calls `work` and returns its result, or prints the error.
/// Returns exit_code::output_incomplete if `work` returned 0 but noted or printed output is
/// incomplete.
int run(CLI::App& app, int argc, char** argv, const std::function<int()>& work);

}  // namespace examples
