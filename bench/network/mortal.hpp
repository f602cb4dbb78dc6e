#pragma once

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "sotto/core/bytes.hpp"
#include "sotto/core/clock.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/transports/transport.hpp"

namespace bench {

/// The clock that all processes of a machine share, as Python's time.monotonic().
inline double monotonic_seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

/// How and where a rank ends.
struct death {
    std::string phase{};  // empty: it lives
    std::int64_t round = 0;
    int signal = SIGKILL;

    /// Says when, and ends this process or stops it.
    void come() const {
        char text[64];
        const int size =
            std::snprintf(text, sizeof text, "{\"died\": %.9f}\n", monotonic_seconds());
        [[maybe_unused]] const auto written =
            ::write(STDOUT_FILENO, text, static_cast<std::size_t>(size));
        ::kill(::getpid(), signal);
    }
};

/// A transport whose rank ends as soon as it enters a phase of a round, or, with "send", where it
/// sends the second message of one.
template <sotto::transport Inner>
class mortal {
public:
    mortal(Inner& inner, death how) : inner_(&inner), how_(std::move(how)) {}

    void at(sotto::occasion now) {
        inner_->at(now);
        sent_ = now.round >= how_.round && std::string_view(now.phase) == "compute" ? 0 : sent_;
        if (now.round >= how_.round && how_.phase == now.phase) how_.come();
    }

    sotto::request send(int to, sotto::tag label, sotto::byte_view out) {
        if (how_.phase == "send" && sent_ >= 0 && sent_++ == 1) how_.come();
        return inner_->send(to, label, out);
    }

    int rank() const noexcept { return inner_->rank(); }
    int size() const noexcept { return inner_->size(); }
    sotto::request receive(int from, sotto::tag label, sotto::mutable_byte_view in) {
        return inner_->receive(from, label, in);
    }
    std::optional<sotto::completion> poll(sotto::request r) { return inner_->poll(r); }
    sotto::completion wait(sotto::request r) { return inner_->wait(r); }
    std::uint64_t activity() { return inner_->activity(); }
    void await(std::uint64_t seen) { inner_->await(seen); }
    bool agree(bool vote) { return inner_->agree(vote); }
    void withdraw() noexcept { inner_->withdraw(); }
    void fail(std::string_view cause) noexcept { inner_->fail(cause); }
    void reserve(std::int64_t count) { inner_->reserve(count); }
    sotto::time_point now() const { return inner_->now(); }
    void charge(sotto::work amount) { inner_->charge(amount); }
    sotto::traffic counters() const { return inner_->counters(); }

private:
    Inner* inner_;
    death how_;
    int sent_ = -1;  // messages of the round; -1: not the round yet
};

}  // namespace bench
