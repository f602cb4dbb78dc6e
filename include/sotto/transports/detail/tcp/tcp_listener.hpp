#pragma once

#include "sotto/transports/detail/tcp/tcp_socket.hpp"

#include <fcntl.h>
#include <poll.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "sotto/core/clock.hpp"
#include "sotto/core/detail/files/descriptor.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/detail/text/print_line.hpp"

namespace sotto::detail::net {

/// The port that others connect to. It goes on whatever strangers do: where no descriptor is left,
/// it turns the next away by one that it had kept for that, and rests.
class tcp_listener {
public:
    explicit tcp_listener(tcp_context context)
        : context_(std::move(context)), acceptor_(*context_), spare_(open_spare()) {}
    tcp_listener(const tcp_listener&) = delete;
    tcp_listener& operator=(const tcp_listener&) = delete;

    ///   errors  io_failure: the system refuses
    void open(int rank, const asio::ip::tcp::endpoint& at) {
        boost::system::error_code why = take(
            open_socket(at.protocol().family(), at.protocol().type(), at.protocol().protocol()),
            at.protocol());
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
    }

    /// Takes over a socket that listens already.
    ///   errors  invalid_option: it is none; io_failure: the system refuses
    void adopt(int rank, int handle) {
        const std::string which = "tcp: listener of rank " + std::to_string(rank) +
                                  " is descriptor " + std::to_string(handle) + ", which ";
        int listens = 0;
        socklen_t size = sizeof listens;
        sockaddr_storage at{};
        socklen_t length = sizeof at;
        if (::getsockopt(handle, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || !listens ||
            ::getsockname(handle, reinterpret_cast<sockaddr*>(&at), &length) != 0 ||
            (at.ss_family != AF_INET && at.ss_family != AF_INET6))
            throw invalid_option(which + "is not a socket that listens for TCP");
        boost::system::error_code why =
            take(above_standard(descriptor(handle)), protocol_of(at.ss_family));
        if (!why) acceptor_.non_blocking(true, why);
        if (why) throw io_failure(which + "cannot be used: " + why.message());
        ::fcntl(acceptor_.native_handle(), F_SETFD, FD_CLOEXEC);
    }

    bool is_open() const noexcept { return acceptor_.is_open(); }
    void close() noexcept {
        boost::system::error_code ignored;
        acceptor_.close(ignored);
    }

    asio::ip::tcp::endpoint place() const {
        boost::system::error_code ignored;
        return acceptor_.local_endpoint(ignored);
    }

    /// On stderr, if not only this machine can connect. For jobs without a secret.
    void warn_of_strangers() const {
        const asio::ip::tcp::endpoint at = place();
        if (at.address().is_loopback()) return;
        print_line(stderr, "sotto: tcp_options::insecure_network: any host that reaches " +
                               at.address().to_string() + " port " + std::to_string(at.port()) +
                               " can join this job and read its messages");
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
            asio::ip::tcp::endpoint from;
            auto size = static_cast<socklen_t>(from.capacity());
            descriptor made = accept_socket(acceptor_.native_handle(), from.data(), &size);
            if (!made && (errno == EMFILE || errno == ENFILE)) return turn_one_away();
            boost::system::error_code why = made ? boost::system::error_code() : system_code();
            std::unique_ptr<tcp_socket> socket;
            if (made) {
                from.resize(size);
                socket =
                    std::make_unique<tcp_socket>(context_, std::move(made), from.protocol(), why);
            }
            if (!why)
                take(std::move(socket), from.address());
            else if (is_shortage(why))
                return rest();
            else if (why == asio::error::would_block || why == asio::error::try_again)
                return;
            // Else of this connection alone, which is over.
        }
    }

private:
    // Room for strangers, so that a rank behind many of them is not kept waiting by its system,
    // which tries again after a second, and then less and less often.
    static constexpr int waiting_max = 1024;

    static descriptor open_spare() noexcept { return open_file("/dev/null", O_RDONLY); }

    static boost::system::error_code system_code() noexcept {
        return {errno, boost::system::system_category()};
    }

    /// Of the system's, that may pass.
    static bool is_shortage(const boost::system::error_code& why) noexcept {
        return why.value() == EMFILE || why.value() == ENFILE || why.value() == ENOMEM ||
               why.value() == ENOBUFS || why.value() == ENOSPC;
    }

    boost::system::error_code take(descriptor opened, const asio::ip::tcp& protocol) {
        boost::system::error_code why;
        if (!opened) return system_code();
        acceptor_.assign(protocol, opened.handle(), why);
        if (!why) (void)opened.release();
        return why;
    }

    void rest() noexcept {
        rests_until_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
    }

    void turn_one_away() noexcept {
        rest();
        if (!spare_) return;
        spare_.close();
        accept_socket(acceptor_.native_handle()).close();
        spare_ = open_spare();
    }

    tcp_context context_;  // before its port
    asio::ip::tcp::acceptor acceptor_;
    descriptor spare_;
    time_point rests_until_{};
};

}  // namespace sotto::detail::net
