#pragma once

// What transports over TCP compile once, beside src.hpp. Needs Boost.Asio.
// One source file of a program includes it, and all of its source files are compiled with
// -D SOTTO_SEPARATE_COMPILATION: they see declarations alone, and compile in less time.
// Written by: cmake -P cmake/update_headers.cmake

#ifndef SOTTO_SEPARATE_COMPILATION
#error "sotto/src_tcp.hpp is for programs that are compiled with -D SOTTO_SEPARATE_COMPILATION"
#endif

