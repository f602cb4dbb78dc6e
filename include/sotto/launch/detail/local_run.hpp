#pragma once

#include <poll.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sotto/core/clock.hpp"
#include "sotto/core/deadline.hpp"
#include "sotto/core/printable.hpp"
#include "sotto/launch/detail/ending.hpp"
#include "sotto/launch/detail/heard_signals.hpp"
#include "sotto/launch/detail/line_prefixer.hpp"
#include "sotto/launch/detail/line_sink.hpp"
#include "sotto/launch/detail/process_group.hpp"
#include "sotto/launch/detail/supervision.hpp"

namespace sotto::detail::launch {

/// The ranks of a job on this machine, from the first one's start to the last one's end: reads what
/// they say, hears of signals and ends, and does what `supervision` decides.
class local_run {
public:
    using variables = std::vector<std::pair<std::string, std::string>>;

    local_run(std::vector<std::string> command, const patience& grace, bool keeps_going, int out,
              int err);

    /// By which the processes of this job are known.
    const job_mark& mark() const noexcept { return group_.mark(); }

    /// Starts the next rank, with these variables in place of such as there are.
    void start(variables own);

    std::optional<ending> run();

private:
    struct rank {
        running_program process;
        std::array<line_prefixer, 2> lines;  // of its output, and of what it complains of
    };

    /// Without the time in which this process was halted: the ranks were, too, or could not write.
    time_point now() noexcept { return began_ + clock_.at(std::chrono::steady_clock::now()); }

    static std::vector<char*> pointers_to(std::vector<std::string>& texts);

    const std::string& lost_output() const noexcept;

    /// Once, where it may be read.
    void tell_of_lost_output();

    line_sink& sink(bool complains) noexcept { return complains ? err_ : out_; }

    static descriptor& source(rank& of, bool complains) noexcept;

    /// Until something happened; for a slice once time counts, as a rank failed.
    void wait(const supervision& ranks);

    void want_sinks();

    void poll(int milliseconds);

    void pass_on();

    /// To one of both: if they are one pipe, it may have had room for one alone.
    void write();

    /// Until nothing waits to be written; false if a signal said that there is no time for it.
    bool write_all();

    /// All that there is, as long as there is room for it.
    void read(rank& from, bool complains);

    void hear(supervision& ranks);

    /// The next signal that asks ranks to end. At Ctrl-Z the whole job is halted until this process
    /// is let go on.
    std::optional<int> next_signal() noexcept;

    void note_endings(supervision& ranks);

    /// Each rank that failed, and how whoever likes brings it back.
    void tell_each(bool others);

    /// The variables that place a rank, as a shell takes them.
    static std::string placed(const variables& own);

    /// As a shell takes it: between quotes, unless it has nothing but harmless characters.
    static std::string quoted(const std::string& value);

    void send(int signal);

    /// Those that are still there.
    std::string running() const;

    static std::string seconds(duration time);

    static std::string name_of(int signal) { return ::strsignal(signal); }

    void say(const std::string& text) { err_.text() += "launch: " + printable(text) + "\n"; }

    static constexpr std::size_t first_rank = 3, of_a_rank = 3;  // places in waits_

    std::vector<std::string> command_;
    std::string path_;
    patience grace_;
    bool keeps_going_;
    line_sink out_, err_;
    heard_signals signals_;
    process_group group_;
    std::vector<rank> ranks_;
    std::vector<std::string> places_;  // of each rank
    std::vector<pollfd> waits_;
    std::vector<ending> ended_;
    std::array<char, 1 << 16> piece_{};
    bool tells_of_loss_ = false;
    time_point began_ = std::chrono::steady_clock::now();
    waiting_time clock_{began_};
    bool hurries_ = false;  // whoever reads what the ranks say is not waited for
};

}  // namespace sotto::detail::launch

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/launch/detail/local_run.ipp"
#endif
