#pragma once

#include "sotto/transports/tcp_socket.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "sotto/core/bytes.hpp"
#include "sotto/core/clock.hpp"
#include "sotto/wire/hello.hpp"

namespace sotto::detail::net {

/// A connection on its way to being one: each side says a few things of known length, and reads no
/// byte of what comes after them.
class tcp_opening {
public:
    enum class stage : std::uint8_t {
        resting,      // ours, before the next attempt
        connecting,   // ours
        hello_due,    // somebody's
        welcome_due,  // ours
        table_due,    // ours, to rank 0
        parked,       // between rank 0 and another: its word is due, or the other's
        done,         // somebody has taken the socket over
    };

    /// To another rank.
    static tcp_opening to(const asio::ip::tcp::endpoint& place, int peer,
                          wire::connection_purpose purpose) {
        tcp_opening made;
        made.place_ = place;
        made.peer = peer;
        made.purpose = purpose;
        return made;
    }

    /// From whoever it is.
    static tcp_opening from(asio::ip::tcp::socket socket, std::string address,
                            time_point deadline) {
        tcp_opening made;
        made.socket_ = std::make_unique<tcp_socket>(std::move(socket));
        made.at = stage::hello_due;
        made.address = std::move(address);
        made.until = deadline;
        return made;
    }

    stage at = stage::resting;
    int peer = -1;
    wire::connection_purpose purpose = wire::connection_purpose::data;
    std::string address{};  // whose it is, of a stranger
    time_point until{};     // of resting, connecting and hello_due
    bool closes = false;    // once all is said

    const asio::ip::tcp::endpoint& place() const noexcept { return place_; }
    tcp_socket* socket() const noexcept { return socket_.get(); }
    bool has_output() const noexcept { return !out_.empty(); }

    std::unique_ptr<tcp_socket> taken_over() noexcept {
        at = stage::done;
        return std::move(socket_);
    }

    void connect(asio::io_context& io, time_point deadline) {
        asio::ip::tcp::socket socket(io);
        boost::system::error_code why;
        socket.open(place_.protocol(), why);
        if (why) return;  // no descriptor is free: the next attempt may find one
        socket_ = std::make_unique<tcp_socket>(std::move(socket));
        socket_->start_connecting(place_);
        at = stage::connecting;
        until = deadline;
    }

    void rest(time_point deadline) noexcept {
        socket_.reset();
        in_.clear();
        out_.clear();
        at = stage::resting;
        until = deadline;
    }

    void say(byte_view what) { out_.insert(out_.end(), what.begin(), what.end()); }

    /// Sends what was said, as far as it goes; how it failed, if it did.
    std::optional<std::string> flush() {
        while (!out_.empty()) {
            const byte_view all = out_;
            const moved sent = socket_->write(std::span(&all, 1));
            if (sent.closed) return sent.why;
            if (sent.bytes == 0) break;
            out_.erase(out_.begin(), out_.begin() + static_cast<std::ptrdiff_t>(sent.bytes));
        }
        return std::nullopt;
    }

    /// Reads up to `due` bytes; all of them once they are there. `lost`: how the connection ended.
    std::optional<bytes> read(std::size_t due, std::optional<std::string>& lost) {
        const std::size_t had = in_.size();
        in_.resize(due);
        const mutable_byte_view rest = mutable_byte_view(in_).subspan(had);
        const moved got = socket_->read(std::span(&rest, 1));
        in_.resize(had + got.bytes);
        if (got.closed) lost = got.why;
        if (in_.size() < due) return std::nullopt;
        return std::exchange(in_, {});
    }

private:
    tcp_opening() = default;

    std::unique_ptr<tcp_socket> socket_;
    asio::ip::tcp::endpoint place_{};
    bytes in_{};
    bytes out_{};
};

}  // namespace sotto::detail::net
