#pragma once

// What sotto compiles once, except for TCP, models, TLS and MPI: see src_tcp.hpp and so on.
// One source file of a program includes it, and all of its source files are compiled with
// -D SOTTO_SEPARATE_COMPILATION: they see declarations alone, and compile in less time.
// Written by: cmake -P cmake/update_headers.cmake

#ifndef SOTTO_SEPARATE_COMPILATION
#error "sotto/src.hpp is for programs that are compiled with -D SOTTO_SEPARATE_COMPILATION"
#endif

