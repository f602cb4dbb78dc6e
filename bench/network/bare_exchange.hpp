#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "forked.hpp"
#include "sotto/core/detail/memory/large_pages.hpp"

namespace bench {

/// The clock that all processes of a machine share.
inline double seconds_now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

/// That this process has had of processors, the system's work for it included.
inline double processor_seconds() {
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}

namespace detail {

constexpr std::size_t part_bytes = 1 << 18;  // of one call

inline void require(bool holds, const char* what) {
    if (!holds) throw std::system_error(errno, std::generic_category(), what);
}

inline sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in made{};
    made.sin_family = AF_INET;
    made.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    made.sin_port = htons(port);
    return made;
}

inline void prepare(int socket) {
    const int yes = 1;
    require(::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) == 0 &&
                ::setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, "reno", 4) == 0,
            "setsockopt");
}

/// Sends and then receives so many bytes, as often as said; the seconds at which what counts began
/// and ended.
inline void push_bare(std::size_t bytes, int warm_up, int rounds, std::uint16_t port, int tells) {
    sotto::detail::large_vector<char> out(bytes, 1), in(bytes, 1);
    const int to = ::socket(AF_INET, SOCK_STREAM, 0);
    const sockaddr_in server = loopback(port);
    while (::connect(to, reinterpret_cast<const sockaddr*>(&server), sizeof server) != 0) {
        require(errno == ECONNREFUSED, "connect");  // it does not listen yet
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    prepare(to);
    char go = 0;
    require(::recv(to, &go, 1, MSG_WAITALL) == 1, "recv");  // all are there
    double began = 0.0;
    for (int round = 0; round < warm_up + rounds; ++round) {
        if (round == warm_up) began = seconds_now();
        for (std::size_t sent = 0; sent < bytes;) {
            const ssize_t some =
                ::send(to, out.data() + sent, std::min(part_bytes, bytes - sent), MSG_NOSIGNAL);
            require(some > 0, "send");
            sent += static_cast<std::size_t>(some);
        }
        for (std::size_t received = 0; received < bytes;) {
            const ssize_t some =
                ::recv(to, in.data() + received, std::min(part_bytes, bytes - received), 0);
            require(some > 0, "recv");
            received += static_cast<std::size_t>(some);
        }
        if (in.front() != 2 || in.back() != 2) throw std::runtime_error("other bytes came back");
    }
    tell(tells, std::to_string(began) + " " + std::to_string(seconds_now()));
    ::close(to);
}

/// Receives from each worker, and then answers it, in one thread.
inline void serve_bare(std::size_t bytes, int workers, int turns, int listener, int tells) {
    struct link {
        int socket = -1;
        sotto::detail::large_vector<char> in;
        std::size_t received = 0, sent = 0;
        int turns = 0;
    };
    std::vector<link> links(static_cast<std::size_t>(workers));
    const sotto::detail::large_vector<char> parameters(bytes, 2);
    for (link& l : links) {
        l.socket = ::accept(listener, nullptr, nullptr);
        require(l.socket >= 0, "accept");
        prepare(l.socket);
        l.in.assign(bytes, 0);
    }
    for (const link& l : links) require(::send(l.socket, "!", 1, MSG_NOSIGNAL) == 1, "send");
    const auto count = [](ssize_t moved) {
        require(moved > 0 || (moved < 0 && (errno == EAGAIN || errno == EINTR)), "a worker");
        return moved > 0 ? static_cast<std::size_t>(moved) : 0;
    };
    const double used = processor_seconds();
    int left = workers;
    while (left > 0) {
        bool moved = false;
        for (link& l : links) {
            if (l.turns == turns) continue;
            std::size_t some = 0;
            if (l.received < bytes)
                l.received += some =
                    count(::recv(l.socket, l.in.data() + l.received,
                                 std::min(part_bytes, bytes - l.received), MSG_DONTWAIT));
            else
                l.sent += some = count(::send(l.socket, parameters.data() + l.sent,
                                              std::min(part_bytes, bytes - l.sent),
                                              MSG_DONTWAIT | MSG_NOSIGNAL));
            moved = moved || some > 0;
            if (l.sent < bytes) continue;
            l.received = l.sent = 0;
            if (++l.turns == turns) --left;
        }
        if (moved) continue;
        std::vector<pollfd> waits;
        for (const link& l : links)
            if (l.turns < turns)
                waits.push_back(
                    {l.socket, static_cast<short>(l.received < bytes ? POLLIN : POLLOUT), 0});
        if (!waits.empty()) (void)::poll(waits.data(), waits.size(), -1);
    }
    tell(tells, std::to_string((processor_seconds() - used) / (workers * turns)));
}

}  // namespace detail

/// What pushes of so many bytes, each answered by as many, need at least over loopback: plain
/// sockets, no frames, no digests, nothing done with what comes.
struct bare_seconds {
    double all = 0.0;  // from when the first worker's rounds began until the last one's ended
    double of_processor = 0.0;  // of the server's, for each push
};

inline bare_seconds bare_exchange(std::size_t bytes, int workers, int warm_up, int rounds,
                                  std::uint16_t port) {
    const int listener = ::socket(AF_INET, SOCK_STREAM, 0), yes = 1;
    detail::require(listener >= 0, "socket");
    ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    const sockaddr_in own = detail::loopback(port);
    detail::require(::bind(listener, reinterpret_cast<const sockaddr*>(&own), sizeof own) == 0,
                    "bind");
    detail::require(::listen(listener, workers) == 0, "listen");
    forked server(
        [&](int tells) { detail::serve_bare(bytes, workers, warm_up + rounds, listener, tells); });
    std::vector<forked> links;
    for (int w = 0; w < workers; ++w)
        links.emplace_back(
            [&](int tells) { detail::push_bare(bytes, warm_up, rounds, port, tells); });
    ::close(listener);
    double began = 0.0, ended = 0.0;
    for (forked& f : links) {
        while (!f.closed()) f.read();
        if (f.wait() != 0 || f.lines().size() != 1)
            throw std::runtime_error("a bare worker did not finish");
        std::size_t at = 0;
        const double from = std::stod(f.lines().front(), &at);
        const double to = std::stod(f.lines().front().substr(at));
        began = began == 0.0 ? from : std::min(began, from);
        ended = std::max(ended, to);
    }
    while (!server.closed()) server.read();
    if (server.wait() != 0 || server.lines().size() != 1)
        throw std::runtime_error("the bare server did not finish");
    return {ended - began, std::stod(server.lines().front())};
}

}  // namespace bench
