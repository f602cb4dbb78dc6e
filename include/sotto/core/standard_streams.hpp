#pragma once

#include "sotto/core/config.hpp"

namespace sotto {

/// Opens /dev/null for each of stdin, stdout and stderr that is closed. Otherwise a file or socket
/// could get the number of one of them and receive what the program prints. The library's own files
/// always have other numbers, but Asio and MPI open files themselves: `tcp::join` and `mpi::join`
/// call this function first. A program that opens files, or uses a library that opens files, calls
/// it at the start of main.
///   errors  false, with errno set: the system refused to open /dev/null
bool open_standard_streams() noexcept;

/// Flushes stdout and fails if any output to it was lost. A program calls it before it ends: the C
/// library flushes the rest after main and reports no errors.
///   errors  output_incomplete: a write failed, as on a full disk
void require_standard_output();

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/core/standard_streams.ipp"
#endif
