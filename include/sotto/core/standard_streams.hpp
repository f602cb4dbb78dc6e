#pragma once

#include "sotto/core/config.hpp"

namespace sotto {

/// Opens /dev/null as each of stdin, stdout and stderr that is closed, so that no file or socket
/// gets the number of one of them and then receives what is printed. All files of this library have
/// other numbers. Asio and MPI open their own, so `tcp::join` and `mpi::join` call this first. A
/// program that opens files, or uses a library that does, calls it at the start of main.
///   errors  false, with errno set: the system refused to open /dev/null
bool open_standard_streams() noexcept;

/// Writes what stdout still holds, and reports whether all that was printed there arrived. A
/// program calls it at its end: the C library writes what is left after main, and reports nothing.
///   errors  output_incomplete: a write failed, as on a full disk
void require_standard_output();

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/core/standard_streams.ipp"
#endif
