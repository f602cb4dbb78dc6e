#pragma once

#include "sotto/transports/tcp_socket.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include "sotto/core/clock.hpp"
#include "sotto/core/errors.hpp"

namespace sotto::detail::net {

/// The port that others connect to. It goes on whatever strangers do: where no descriptor is left,
/// it turns the next away by one that it had kept for that, and rests.
class tcp_listener {
public:
    explicit tcp_listener(asio::io_context& io) : acceptor_(io), spare_(open_spare()) {}
    tcp_listener(const tcp_listener&) = delete;
    tcp_listener& operator=(const tcp_listener&) = delete;
    ~tcp_listener() {
        if (spare_ >= 0) ::close(spare_);
    }

    ///   errors  io_failure: the system refuses
    void open(int rank, const asio::ip::tcp::endpoint& at) {
        boost::system::error_code why;
        acceptor_.open(at.protocol(), why);
        if (!why) acceptor_.set_option(asio::ip::tcp::acceptor::reuse_address(true), why);
        if (!why) acceptor_.bind(at, why);
        if (!why) acceptor_.listen(waiting_max, why);
        if (!why) acceptor_.non_blocking(true, why);
        if (why) {
            boost::system::error_code ignored;
            acceptor_.close(ignored);
            throw io_failure("tcp: rank " + std::to_string(rank) + " cannot listen on " +
                             at.address().to_string() + " port " + std::to_string(at.port()) +
                             ": " + why.message());
        }
        ::fcntl(acceptor_.native_handle(), F_SETFD, FD_CLOEXEC);
    }

    /// Takes over a socket that listens already.
    ///   errors  invalid_option: it is none
    void adopt(int rank, int handle) {
        int listens = 0;
        socklen_t size = sizeof listens;
        sockaddr_storage at{};
        socklen_t length = sizeof at;
        boost::system::error_code why;
        if (::getsockopt(handle, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || !listens ||
            ::getsockname(handle, reinterpret_cast<sockaddr*>(&at), &length) != 0)
            why = asio::error::bad_descriptor;
        if (!why)
            acceptor_.assign(at.ss_family == AF_INET6 ? asio::ip::tcp::v6() : asio::ip::tcp::v4(),
                             handle, why);
        if (!why) acceptor_.non_blocking(true, why);
        if (why)
            throw invalid_option("tcp: listener of rank " + std::to_string(rank) +
                                 " is descriptor " + std::to_string(handle) +
                                 ", which is not a socket that listens for TCP");
        ::fcntl(handle, F_SETFD, FD_CLOEXEC);
    }

    bool is_open() const noexcept { return acceptor_.is_open(); }

    asio::ip::tcp::endpoint place() const {
        boost::system::error_code ignored;
        return acceptor_.local_endpoint(ignored);
    }

    /// On stderr, if not only this machine can connect. For jobs without a secret.
    void warn_of_strangers() const {
        const asio::ip::tcp::endpoint at = place();
        if (at.address().is_loopback()) return;
        std::fprintf(stderr,
                     "sotto: tcp_options::insecure_network: whoever reaches %s port %d can join "
                     "this job and read along\n",
                     at.address().to_string().c_str(), int{at.port()});
    }

    /// What to wait for by poll(2); nothing while it rests.
    std::optional<pollfd> waits() {
        if (!is_open() || resting()) return std::nullopt;
        return pollfd{acceptor_.native_handle(), POLLIN, 0};
    }
    bool resting() const noexcept { return std::chrono::steady_clock::now() < rests_until_; }

    /// Calls take(socket, address) with some of those who have connected.
    template <class Taker>
    void accept(Taker&& take) {
        if (!is_open() || resting()) return;
        for (int turns = 0; turns < 64; ++turns) {
            boost::system::error_code why;
            asio::ip::tcp::endpoint from;
            asio::ip::tcp::socket socket = acceptor_.accept(from, why);
            if (!why) {
                take(std::move(socket), from.address());
            } else if (why == asio::error::no_descriptors || why == no_descriptors_at_all()) {
                return turn_one_away();
            } else if (why != asio::error::connection_aborted && why != asio::error::interrupted) {
                return;
            }
        }
    }

private:
    // Room for strangers, so that a rank behind many of them is not kept waiting by its system,
    // which tries again after a second, and then less and less often.
    static constexpr int waiting_max = 1024;

    static int open_spare() noexcept { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); }

    static boost::system::error_code no_descriptors_at_all() noexcept {
        return {ENFILE, boost::system::system_category()};
    }

    void turn_one_away() noexcept {
        rests_until_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
        if (spare_ < 0) return;
        ::close(spare_);
        const int away = ::accept(acceptor_.native_handle(), nullptr, nullptr);
        if (away >= 0) ::close(away);
        spare_ = open_spare();
    }

    asio::ip::tcp::acceptor acceptor_;
    int spare_;
    time_point rests_until_{};
};

}  // namespace sotto::detail::net
