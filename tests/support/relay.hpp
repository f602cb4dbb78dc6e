#pragma once

#include <doctest/doctest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "support/strangers.hpp"

namespace sotto::testing {

/// Stands between others and a port of this machine, and passes on what both sides say. Of one
/// connection it changes one byte that comes from outside.
class changing_relay {
public:
    /// `which` connection, counted from 0; the byte after so many others.
    changing_relay(std::uint16_t port, std::size_t which, std::size_t at)
        : inside_(port), which_(which), at_(at), outside_(listens_.listen()) {
        REQUIRE(outside_ != 0);
        thread_ = std::jthread([this](const std::stop_token& stop) {
            while (!stop.stop_requested()) pass();
        });
    }

    std::uint16_t port() const { return outside_; }

private:
    struct connection {
        loopback_socket outside, inside;
        std::size_t passed = 0;  // from outside
        bool ended = false;
    };

    void pass() {
        std::vector<pollfd> waits{{listens_.handle(), POLLIN, 0}};
        for (const connection& c : all_) {
            waits.push_back({c.ended ? -1 : c.outside.handle(), POLLIN, 0});
            waits.push_back({c.ended ? -1 : c.inside.handle(), POLLIN, 0});
        }
        if (::poll(waits.data(), waits.size(), 50) <= 0) return;
        for (std::size_t i = 0; i < all_.size(); ++i) {
            if ((waits[1 + 2 * i].revents) != 0) pass(i, true);
            if ((waits[2 + 2 * i].revents) != 0 && !all_[i].ended) pass(i, false);
        }
        if ((waits[0].revents & POLLIN) == 0) return;
        connection made{loopback_socket::of(::accept(listens_.handle(), nullptr, nullptr)),
                        loopback_socket()};
        if (made.inside.connect(inside_)) all_.push_back(std::move(made));
    }

    void pass(std::size_t i, bool from_outside) {
        connection& c = all_[i];
        const int from = from_outside ? c.outside.handle() : c.inside.handle();
        const int to = from_outside ? c.inside.handle() : c.outside.handle();
        const auto count = ::recv(from, room_.data(), room_.size(), MSG_DONTWAIT);
        if (count > 0 && from_outside) {
            const auto size = static_cast<std::size_t>(count);
            if (i == which_ && at_ >= c.passed && at_ < c.passed + size)
                room_[at_ - c.passed] ^= std::byte{1};
            c.passed += size;
        }
        // Blocks while the other side takes nothing, which both sides of a test always do.
        if (count > 0 &&
            ::send(to, room_.data(), static_cast<std::size_t>(count), MSG_NOSIGNAL) == count)
            return;
        c.ended = true;
        c.outside.close();
        c.inside.close();
    }

    std::uint16_t inside_;
    std::size_t which_, at_;
    loopback_socket listens_;
    std::uint16_t outside_;
    std::deque<connection> all_;
    std::array<std::byte, 65536> room_;
    std::jthread thread_;  // last: it uses all of the above
};

}  // namespace sotto::testing
