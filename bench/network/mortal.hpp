#pragma once

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "sotto/core/bytes.hpp"
#include "sotto/core/clock.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/transports/detail/tcp/tcp_security.hpp"
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
    int tells = STDOUT_FILENO;

    /// Says when, and ends this process or stops it.
    void come() const {
        char text[64];
        const int size =
            std::snprintf(text, sizeof text, "{\"died\": %.9f}\n", monotonic_seconds());
        [[maybe_unused]] const auto written = ::write(tells, text, static_cast<std::size_t>(size));
        ::kill(::getpid(), signal);
    }
};

/// A transport whose rank ends in a phase of a round: "compute", "reduce", "agree" (before its
/// vote), "checkpoint" as soon as it enters it, "send" where it sends the second message, "apply"
/// once it knows the verdict.
template <sotto::transport Inner>
class mortal {
public:
    mortal(Inner& inner, death how) : inner_(&inner), how_(std::move(how)) {}

    void at(sotto::peer_failure::job_phase now) {
        inner_->at(now);
        if (now.round < how_.round) return;
        now_ = now.phase;
        if (now_ == "compute") sent_ = 0;
        if (!how_.phase.empty() && how_.phase == name_of(now_)) how_.come();
    }

    sotto::request send(int to, sotto::tag label, sotto::byte_view out) {
        if (how_.phase == "send" && sent_ >= 0 && sent_++ == 1) how_.come();
        return inner_->send(to, label, out);
    }

    bool agree(bool vote) {
        const bool verdict = inner_->agree(vote);
        if (how_.phase == "apply" && now_ == "commit") how_.come();
        return verdict;
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
    void withdraw() noexcept { inner_->withdraw(); }
    void fail(std::string_view cause) noexcept { inner_->fail(cause); }
    void reserve(std::int64_t count) { inner_->reserve(count); }
    sotto::time_point now() const { return inner_->now(); }
    void charge(sotto::work amount) { inner_->charge(amount); }
    sotto::traffic counters() const { return inner_->counters(); }

private:
    /// Of what the library calls a phase.
    static std::string_view name_of(std::string_view phase) noexcept {
        if (phase == "exchange") return "reduce";
        if (phase == "commit") return "agree";
        if (phase == "saving a checkpoint") return "checkpoint";
        return phase;
    }

    Inner* inner_;
    death how_;
    std::string_view now_{};  // of the round in question
    int sent_ = -1;           // messages of the round; -1: not the round yet
};

/// Keeps connections secret as another does; the rank ends where one of them is open and nothing
/// was said over it by this rank: the first, the second, ... that it makes or is made to it.
class mortal_security final : public sotto::detail::tcp_security {
public:
    mortal_security(std::shared_ptr<const sotto::detail::tcp_security> inner, death how,
                    int connection)
        : inner_(std::move(inner)), how_(std::move(how)), left_(connection) {}

    std::unique_ptr<sotto::detail::net::secure_session> connect(int handle, const std::string& job,
                                                                int own, int peer) const override {
        if (--left_ == 0) how_.come();
        return inner_->connect(handle, job, own, peer);
    }
    std::unique_ptr<sotto::detail::net::secure_session> accept(
        int handle, const std::string& job, int own, sotto::byte_view first) const override {
        if (--left_ == 0) how_.come();
        return inner_->accept(handle, job, own, first);
    }
    bool may_begin_with(sotto::byte_view first) const noexcept override {
        return inner_->may_begin_with(first);
    }

private:
    std::shared_ptr<const sotto::detail::tcp_security> inner_;
    death how_;
    mutable int left_;
};

}  // namespace bench
