#pragma once

// What transports over TCP compile once, beside src.hpp. Needs Boost.Asio.
// One source file of a program includes it, and all of its source files are compiled with
// -D SOTTO_SEPARATE_COMPILATION: they see declarations alone, and compile in less time.
// Written by: cmake -P cmake/update_headers.cmake

#ifndef SOTTO_SEPARATE_COMPILATION
#error "sotto/src_tcp.hpp is for programs that are compiled with -D SOTTO_SEPARATE_COMPILATION"
#endif

#include "sotto/transports/detail/tcp/rendezvous_channel.ipp"
#include "sotto/transports/detail/tcp/tcp_address.ipp"
#include "sotto/transports/detail/tcp/tcp_connections.ipp"
#include "sotto/transports/detail/tcp/tcp_context.ipp"
#include "sotto/transports/detail/tcp/tcp_control.ipp"
#include "sotto/transports/detail/tcp/tcp_handshake.ipp"
#include "sotto/transports/detail/tcp/tcp_join.ipp"
#include "sotto/transports/detail/tcp/tcp_leader_search.ipp"
#include "sotto/transports/detail/tcp/tcp_links.ipp"
#include "sotto/transports/detail/tcp/tcp_listener.ipp"
#include "sotto/transports/detail/tcp/tcp_opening.ipp"
#include "sotto/transports/detail/tcp/tcp_peer_user.ipp"
#include "sotto/transports/detail/tcp/tcp_rank.ipp"
#include "sotto/transports/detail/tcp/tcp_rendezvous.ipp"
#include "sotto/transports/detail/tcp/tcp_resolver.ipp"
#include "sotto/transports/detail/tcp/tcp_socket.ipp"
#include "sotto/transports/tcp.ipp"
