#pragma once

// What secret connections compile once, beside src.hpp and src_tcp.hpp. Needs OpenSSL 3.
// One source file of a program includes it, and all of its source files are compiled with
// -D SOTTO_SEPARATE_COMPILATION: they see declarations alone, and compile in less time.
// Written by: cmake -P cmake/update_headers.cmake

#ifndef SOTTO_SEPARATE_COMPILATION
#error "sotto/src_tls.hpp is for programs that are compiled with -D SOTTO_SEPARATE_COMPILATION"
#endif

#include "sotto/transports/detail/tls/tls_session.ipp"
#include "sotto/transports/tcp_tls.ipp"
