#pragma once

#include "sotto/launch/detail/local_run.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <string_view>
#include <utility>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/text/number_text.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/launch/detail/program_path.hpp"
#include "sotto/launch/detail/system_calls.hpp"

namespace sotto::detail::launch {

SOTTO_DECL local_run::local_run(std::vector<std::string> command, const patience& grace,
                                bool keeps_going, int out, int err)
    : command_(std::move(command)),
      path_(program_path(command_.front())),
      grace_(grace),
      keeps_going_(keeps_going),
      out_(out),
      err_(err),
      signals_{SIGINT, SIGTERM, SIGHUP, SIGTSTP} {}

SOTTO_DECL void local_run::start(variables own) {
    places_.push_back(placed(own));
    own.emplace_back(job_mark::name, group_.mark().value());
    std::vector<std::string> environment;
    for (const auto& [name, value] : own) environment.push_back(name + "=" + value);
    for (char** given = ::environ; given != nullptr && *given != nullptr; ++given) {
        const std::string_view one = *given;
        if (std::none_of(own.begin(), own.end(), [&](const auto& variable) {
                return one.substr(0, one.find('=')) == variable.first;
            }))
            environment.emplace_back(one);
    }
    const auto arguments = pointers_to(command_), values = pointers_to(environment);
    const std::string prefix = "[" + std::to_string(ranks_.size()) + "] ";
    ranks_.push_back(
        {group_.start({path_.c_str(), arguments.data(), values.data()}, signals_.before()),
         {line_prefixer(prefix), line_prefixer(prefix)}});
}

SOTTO_DECL std::optional<ending> local_run::run() {
    supervision ranks(static_cast<int>(ranks_.size()), grace_, keeps_going_);
    while (ranks.running() > 0) {
        wait(ranks);
        pass_on();
        hear(ranks);
        note_endings(ranks);
        if (const auto signal = ranks.due(now())) {
            if (*signal == SIGTERM)
                say("SIGTERM to " + running() + ", after " + seconds(grace_.until_terminate) +
                    "; SIGKILL in " + seconds(grace_.until_kill) + " to who is then left");
            send(*signal);
        }
    }
    group_.end();  // processes that the ranks started are not needed any more
    for (rank& one : ranks_)
        for (const bool complains : {false, true}) {
            read(one, complains);
            while (sink(complains).full() && write_all()) read(one, complains);
            one.lines[complains].finish(sink(complains).text());
        }
    write_all();
    if (!ranks.outcome() && !lost_output().empty())
        throw output_incomplete("launch: what the ranks printed is incomplete: " + lost_output());
    return ranks.outcome();
}

SOTTO_DECL std::vector<char*> local_run::pointers_to(std::vector<std::string>& texts) {
    std::vector<char*> all;
    for (std::string& text : texts) all.push_back(text.data());
    all.push_back(nullptr);
    return all;
}

SOTTO_DECL const std::string& local_run::lost_output() const noexcept {
    return out_.failure().empty() ? err_.failure() : out_.failure();
}

SOTTO_DECL void local_run::tell_of_lost_output() {
    if (tells_of_loss_ || lost_output().empty()) return;
    tells_of_loss_ = true;
    (out_.failure().empty() ? out_ : err_).text() +=
        "launch: what the ranks print cannot be written: " + lost_output() +
        "; it is dropped, and the job goes on\n";
}

SOTTO_DECL descriptor& local_run::source(rank& of, bool complains) noexcept {
    return complains ? of.process.err : of.process.out;
}

SOTTO_DECL void local_run::wait(const supervision& ranks) {
    want_sinks();
    for (rank& one : ranks_) {
        waits_.push_back({one.process.end, POLLIN, 0});
        for (const bool complains : {false, true})
            waits_.push_back(
                {sink(complains).full() ? -1 : source(one, complains).handle(), POLLIN, 0});
    }
    int most = -1;
    if (ranks.first_failure()) {
        const duration slice = clock_.slice();
        const duration left = ranks.next() ? *ranks.next() - now() : slice;
        most = static_cast<int>(
            std::chrono::ceil<std::chrono::milliseconds>(std::clamp(left, duration::zero(), slice))
                .count());
    }
    poll(most);
}

SOTTO_DECL void local_run::want_sinks() {
    waits_.clear();
    waits_.push_back({signals_.handle(), POLLIN, 0});
    waits_.push_back(out_.wanted());
    waits_.push_back(err_.wanted());
}

SOTTO_DECL void local_run::poll(int milliseconds) {
    if (::poll(waits_.data(), waits_.size(), milliseconds) >= 0) return;
    if (errno != EINTR) refuse_by_system("the ranks cannot be waited for");
    for (pollfd& one : waits_) one.revents = 0;
}

SOTTO_DECL void local_run::pass_on() {
    write();
    for (std::size_t i = 0; i < ranks_.size(); ++i)
        for (const bool complains : {false, true})
            if (waits_[first_rank + of_a_rank * i + 1 + complains].revents != 0)
                read(ranks_[i], complains);
}

SOTTO_DECL void local_run::write() {
    if (waits_[2].revents != 0)
        err_.write();
    else if (waits_[1].revents != 0)
        out_.write();
    tell_of_lost_output();
}

SOTTO_DECL bool local_run::write_all() {
    while (!out_.empty() || !err_.empty()) {
        want_sinks();
        poll(hurries_ ? 0 : -1);
        if (next_signal()) hurries_ = true;
        if (waits_[1].revents == 0 && waits_[2].revents == 0 && hurries_) return false;
        write();
    }
    return true;
}

SOTTO_DECL void local_run::read(rank& from, bool complains) {
    descriptor& pipe = source(from, complains);
    while (pipe && !sink(complains).full()) {
        const ssize_t count =
            uninterrupted([&] { return ::read(pipe.handle(), piece_.data(), piece_.size()); });
        if (count < 0 && errno == EAGAIN) return;
        if (count <= 0) return pipe.close();
        from.lines[complains].take({piece_.data(), static_cast<std::size_t>(count)},
                                   sink(complains).text());
    }
}

SOTTO_DECL void local_run::hear(supervision& ranks) {
    while (const auto told = next_signal()) {
        const int sent = ranks.told(*told);
        if (sent == SIGKILL)
            hurries_ = true;
        else
            say("sending " + name_of(sent) + " to all ranks; a second signal kills them");
        send(sent);
    }
}

SOTTO_DECL std::optional<int> local_run::next_signal() noexcept {
    while (const auto told = signals_.next()) {
        if (*told != SIGTSTP) return told;
        group_.halt();
        ::raise(SIGSTOP);
        group_.resume();
    }
    return std::nullopt;
}

SOTTO_DECL void local_run::note_endings(supervision& ranks) {
    ended_.clear();
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
        if (waits_[first_rank + of_a_rank * i].revents == 0) continue;
        running_program& process = ranks_[i].process;
        int status = 0;
        const pid_t found = uninterrupted([&] { return ::waitpid(process.id, &status, WNOHANG); });
        if (found == 0) continue;
        if (found < 0)
            refuse_by_system("cannot read how rank " + std::to_string(i) +
                             " ended: another part of this program waited for it");
        process.end = -1;
        ended_.push_back({static_cast<int>(i), status});
    }
    const std::optional<ending> had = ranks.first_failure();
    ranks.ended(ended_, now());
    for (const ending& one : ended_)
        if (one.lacks_output()) say(one.text() + ": its output is incomplete");
    if (keeps_going_) return tell_each(ranks.running() > 0);
    if (!ranks.first_failure() || (had && had->rank == ranks.first_failure()->rank)) return;
    std::string text = ranks.first_failure()->text();
    if (ranks.running() > 0) text += "; waiting for " + running();
    if (ranks.running() > 0 && ranks.next())
        text += ", SIGTERM in " + seconds(grace_.until_terminate);
    say(text);
}

SOTTO_DECL void local_run::tell_each(bool others) {
    for (const ending& one : ended_)
        if (one.failed() && !one.lacks_output())
            say(one.text() +
                (others ? "; left: " + running() + ". The same command with " +
                              places_[static_cast<std::size_t>(one.rank)] + " starts it again"
                        : ""));
}

SOTTO_DECL std::string local_run::placed(const variables& own) {
    std::string text;
    for (const auto& [name, value] : own)
        if (!name.starts_with("SOTTO_LOCAL_"))
            text += (text.empty() ? "" : " ") + name + "=" + quoted(value);
    return text;
}

SOTTO_DECL std::string local_run::quoted(const std::string& value) {
    constexpr std::string_view harmless =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=@%+,-";
    if (!value.empty() && value.find_first_not_of(harmless) == value.npos) return value;
    std::string text = "'";
    for (const char letter : value) text += letter == '\'' ? "'\\''" : std::string(1, letter);
    return text + "'";
}

SOTTO_DECL void local_run::send(int signal) {
    if (signal == SIGKILL) say("killed: " + running());
    group_.signal(signal);
}

SOTTO_DECL std::string local_run::running() const {
    std::string text;
    for (std::size_t i = 0; i < ranks_.size(); ++i)
        if (ranks_[i].process.end >= 0)
            text += (text.empty() ? "rank " : ", rank ") + std::to_string(i);
    return text;
}

SOTTO_DECL std::string local_run::seconds(duration time) {
    return sotto::detail::general_text(in_seconds(time), 6) + " s";
}

}  // namespace sotto::detail::launch
