#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sotto/core/bytes.hpp"
#include "sotto/core/random.hpp"
#include "sotto/transports/detail/tcp/tcp_security.hpp"

namespace sotto::testing {

/// One byte that a process and those that it forks see alike.
class shared_flag {
public:
    shared_flag()
        : place_(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)),
          flag_(new (place_) std::atomic<bool>(false)) {}
    shared_flag(const shared_flag&) = delete;
    shared_flag& operator=(const shared_flag&) = delete;
    ~shared_flag() { ::munmap(place_, 4096); }

    void set() { flag_->store(true); }
    bool is_set() const { return flag_->load(); }

private:
    void* place_;
    std::atomic<bool>* flag_;
};

/// A socket of this machine's loopback; closed with it.
class loopback_socket {
public:
    explicit loopback_socket(int flags = 0)
        : handle_(::socket(AF_INET, SOCK_STREAM | flags, IPPROTO_TCP)) {}
    /// Takes over what the system opened.
    static loopback_socket of(int handle) {
        loopback_socket made;
        made.close();
        made.handle_ = handle;
        return made;
    }
    loopback_socket(loopback_socket&& other) noexcept : handle_(std::exchange(other.handle_, -1)) {}
    loopback_socket& operator=(loopback_socket&& other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~loopback_socket() { close(); }

    int handle() const { return handle_; }
    void close() {
        if (handle_ >= 0) ::close(std::exchange(handle_, -1));
    }

    /// The port on which it listens from then on; 0 if it cannot.
    std::uint16_t listen() {
        sockaddr_in at = place(0);
        socklen_t size = sizeof at;
        auto* const raw = reinterpret_cast<sockaddr*>(&at);
        if (::bind(handle_, raw, size) != 0 || ::listen(handle_, SOMAXCONN) != 0 ||
            ::getsockname(handle_, raw, &size) != 0)
            return 0;
        return ntohs(at.sin_port);
    }

    /// Whether somebody answers, within 100 ms: a queue may be full.
    bool connect(std::uint16_t port) {
        const sockaddr_in at = place(port);
        if (::connect(handle_, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0) return true;
        if (errno != EINPROGRESS) return false;
        pollfd ready{handle_, POLLOUT, 0};
        int why = -1;
        socklen_t size = sizeof why;
        return ::poll(&ready, 1, 100) == 1 &&
               ::getsockopt(handle_, SOL_SOCKET, SO_ERROR, &why, &size) == 0 && why == 0;
    }

    bool send(const std::string& text) {
        return ::send(handle_, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
    }

    /// What closes it tells the other end that it broke.
    void break_at_the_end() {
        const linger at_once{1, 0};
        ::setsockopt(handle_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    }

private:
    static sockaddr_in place(std::uint16_t port) {
        sockaddr_in at{};
        at.sin_family = AF_INET;
        at.sin_port = htons(port);
        at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        return at;
    }

    int handle_;
};

/// A port of 127.0.0.2 where nobody accepts and whose queue is full: connections to it are neither
/// made nor refused. Port 0: there is none.
class full_queue {
public:
    explicit full_queue(std::uint16_t port) {
        if (port == 0) return;
        sockaddr_in at{};
        at.sin_family = AF_INET;
        at.sin_port = htons(port);
        at.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
        const auto* const raw = reinterpret_cast<const sockaddr*>(&at);
        if (::bind(listens_.handle(), raw, sizeof at) != 0 || ::listen(listens_.handle(), 0) != 0)
            return;
        for (loopback_socket& each : waiting_) ::connect(each.handle(), raw, sizeof at);
    }

private:
    loopback_socket listens_{};
    std::array<loopback_socket, 3> waiting_{loopback_socket(SOCK_NONBLOCK),
                                            loopback_socket(SOCK_NONBLOCK),
                                            loopback_socket(SOCK_NONBLOCK)};
};

/// Those who knock at a job's ports, each in turn, and are none of its ranks. Some say nothing and
/// stay, some say a byte whenever another one knocks.
class strangers {
public:
    /// `wrong`: a secret that is not the job's; null: nobody tries one.
    strangers(std::vector<std::uint16_t> ports, std::shared_ptr<const detail::tcp_security> wrong)
        : ports_(std::move(ports)), wrong_(std::move(wrong)) {}

    /// Whether somebody answered.
    bool knock() {
        const std::uint64_t kind = knocks_++ % 8;
        loopback_socket one(SOCK_NONBLOCK);
        const std::uint16_t port = ports_[random_.below(ports_.size())];
        const bool answered = one.connect(port);
        if (answered) greet(std::move(one), kind);
        trickle();
        return answered;
    }

private:
    static constexpr std::size_t silent_max = 1500, trickling_max = 500;

    struct slow {
        loopback_socket socket;
        std::string text;
        std::size_t said = 0;
    };

    std::string noise(std::size_t count) {
        std::string text(count, '\0');
        for (char& c : text) c = static_cast<char>(random_.below(256));
        return text;
    }

    /// A browser, a probe for TLS, noise, our own first bytes with a little or much noise behind
    /// them, a client that has a secret of its own.
    void greet(loopback_socket one, std::uint64_t kind) {
        const std::string probe("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11);
        if (random_.below(2) == 0) one.break_at_the_end();
        switch (kind) {
            case 0: (void)one.send("GET / HTTP/1.1\r\nHost: rank0\r\n\r\n"); return;
            case 1: (void)one.send(probe + noise(506)); return;
            case 2: (void)one.send(noise(8)); return;
            case 3: (void)one.send("SOLo" + noise(40)); return;
            case 4: (void)one.send("SOLo" + noise(300)); return;
            case 5:
                silent_.push_back(std::move(one));
                if (silent_.size() > silent_max) silent_.pop_front();
                return;
            case 6:
                slow_.push_back(
                    {std::move(one), random_.below(2) ? "SOLo" + noise(300) : probe + noise(506)});
                if (slow_.size() > trickling_max) slow_.pop_front();
                return;
            default: break;
        }
        if (!wrong_) return;
        const auto session = wrong_->connect(one.handle(), "sotto", 3, 0);
        const bytes hello(100);
        const byte_view out = hello;
        (void)session->write(std::span(&out, 1));
    }

    void trickle() {
        if (slow_.empty()) return;
        slow next = std::move(slow_.front());
        slow_.pop_front();
        if (next.said < next.text.size() && next.socket.send(next.text.substr(next.said++, 1)))
            slow_.push_back(std::move(next));
    }

    std::vector<std::uint16_t> ports_;
    std::shared_ptr<const detail::tcp_security> wrong_;
    random_stream random_{3};
    std::uint64_t knocks_ = 0;
    std::deque<loopback_socket> silent_;
    std::deque<slow> slow_;
};

}  // namespace sotto::testing
