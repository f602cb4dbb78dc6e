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

/// The ranks of a job on this machine, from the start of the first to the end of the last. It reads
/// their output, handles signals and ended processes, and executes the decisions of `supervision`.
class local_run {
public:
    using variables = std::vector<std::pair<std::string, std::string>>;

    local_run(std::vector<std::string> command, const patience& grace, bool keeps_going, int out,
              int err);

    /// Mark by which the processes of this job are found.
    const job_mark& mark() const noexcept { return group_.mark(); }

    /// Starts the next rank. These variables override those of the environment.
    void start(variables own);

    std::optional<ending> run();

private:
    struct rank {
        running_program process;
        std::array<line_prefixer, 2> lines;  // of stdout and of stderr
    };

    /// Time without halts of this process: a halt stops the ranks too, or blocks their output.
    time_point now() noexcept { return began_ + clock_.at(std::chrono::steady_clock::now()); }

    static std::vector<char*> pointers_to(std::vector<std::string>& texts);

    const std::string& lost_output() const noexcept;

    /// Reports lost output once, to a file that may still be readable.
    void tell_of_lost_output();

    line_sink& sink(bool complains) noexcept { return complains ? err_ : out_; }

    static descriptor& source(rank& of, bool complains) noexcept;

    /// Blocks until an event. After a failure, for at most a slice, because time then counts.
    void wait(const supervision& ranks);

    void want_sinks();

    void poll(int milliseconds);

    void pass_on();

    /// Writes to one of both. If they are one pipe, it may have room for only one write.
    void write();

    /// Blocks until all text is written. Returns false if a signal requires a fast end.
    bool write_all();

    /// Reads what is available, while the sink has room for it.
    void read(rank& from, bool complains);

    void hear(supervision& ranks);

    /// Next signal that asks the ranks to end. On Ctrl-Z, halts the whole job until this process
    /// continues.
    std::optional<int> next_signal() noexcept;

    void note_endings(supervision& ranks);

    /// Reports each rank that failed, and the command that restarts it.
    void tell_each(bool others);

    /// Variables that place a rank, in shell syntax.
    static std::string placed(const variables& own);

    /// Value in shell syntax, quoted unless all its characters are harmless.
    static std::string quoted(const std::string& value);

    void send(int signal);

    /// List of the ranks that have not ended.
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
    std::vector<std::string> places_;  // variables of each rank
    std::vector<pollfd> waits_;
    std::vector<ending> ended_;
    std::array<char, 1 << 16> piece_{};
    bool tells_of_loss_ = false;
    time_point began_ = std::chrono::steady_clock::now();
    waiting_time clock_{began_};
    bool hurries_ = false;  // true: do not wait for the reader of the ranks' output
};

}  // namespace sotto::detail::launch

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/launch/detail/local_run.ipp"
#endif
