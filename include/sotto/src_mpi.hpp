#pragma once

// What the transport over MPI compiles once, beside src.hpp. Needs MPI 3.
// One source file of a program includes it, and all of its source files are compiled with
// -D SOTTO_SEPARATE_COMPILATION: they see declarations alone, and compile in less time.
// Written by: cmake -P cmake/update_headers.cmake

#ifndef SOTTO_SEPARATE_COMPILATION
#error "sotto/src_mpi.hpp is for programs that are compiled with -D SOTTO_SEPARATE_COMPILATION"
#endif

#include "sotto/transports/detail/mpi/mpi_library.ipp"
#include "sotto/transports/detail/mpi/mpi_session.ipp"
#include "sotto/transports/mpi.ipp"
