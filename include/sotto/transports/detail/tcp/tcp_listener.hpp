#pragma once

#include <fcntl.h>
#include <poll.h>

#include <cerrno>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "sotto/core/clock.hpp"
#include "sotto/core/detail/files/descriptor.hpp"
#include "sotto/transports/detail/tcp/tcp_socket.hpp"

namespace sotto::detail::net {

/// The port that others connect to. Strangers cannot stop it: if no descriptor is left, it closes
/// the next connection by a spare descriptor, and rests.
class tcp_listener {
public:
    explicit tcp_listener(tcp_context context)
        : context_(std::move(context)), acceptor_(*context_), spare_(open_spare()) {}
    tcp_listener(const tcp_listener&) = delete;
    tcp_listener& operator=(const tcp_listener&) = delete;

    /// Starts to listen.
    ///   errors  io_failure: the system refuses
    void open(int rank, const asio::ip::tcp::endpoint& at);

    /// Takes over a socket that listens already.
    ///   errors  invalid_option: it is none; io_failure: the system refuses
    void adopt(int rank, int handle);

    bool is_open() const noexcept { return acceptor_.is_open(); }
    void close() noexcept;

    asio::ip::tcp::endpoint place() const;

    /// Warns on stderr if other machines can connect. For jobs without a secret.
    void warn_of_strangers() const;

    /// Descriptor for poll(2); nothing while it rests.
    std::optional<pollfd> waits();
    bool resting() const noexcept { return std::chrono::steady_clock::now() < rests_until_; }

    /// Calls take(socket, address) for some of the new connections.
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
            // Other errors concern only this connection, which is over.
        }
    }

private:
    // Room for strangers, so that the system does not delay a rank behind many of them. A delayed
    // rank is tried again after a second, and then less and less often.
    static constexpr int waiting_max = 1024;

    static descriptor open_spare() noexcept { return open_file("/dev/null", O_RDONLY); }

    static boost::system::error_code system_code() noexcept;

    /// True for a shortage in the system that may pass.
    static bool is_shortage(const boost::system::error_code& why) noexcept;

    boost::system::error_code take(descriptor opened, const asio::ip::tcp& protocol);

    void rest() noexcept;

    void turn_one_away() noexcept;

    tcp_context context_;  // before its port
    asio::ip::tcp::acceptor acceptor_;
    descriptor spare_;
    time_point rests_until_{};
};

}  // namespace sotto::detail::net

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/detail/tcp/tcp_listener.ipp"
#endif
