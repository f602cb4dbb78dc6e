#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <system_error>

#include "sotto/core/printable.hpp"

namespace sotto {

/// Kind of an error, as a number that programs compare. The texts are for people and may change.
enum class errc {
    malformed = 1,      // bytes from a peer or a file that do not follow their format
    invalid_option,     // an option value of the caller that cannot work
    mismatch,           // ranks with different configurations
    non_finite,         // NaN or infinity instead of a number
    peer_failed,        // another rank died, threw, or left
    timed_out,          // a deadline passed
    io,                 // the operating system refused to open, read or write
    output_incomplete,  // the work is done, but a file or stream of its output is incomplete
    altered,            // bytes between two ranks changed in flight
};

}  // namespace sotto

namespace sotto::detail {
class error_category final : public std::error_category {
public:
    const char* name() const noexcept override { return "sotto"; }
    std::string message(int code) const override;
};
}  // namespace sotto::detail

namespace sotto {

/// Returns the category of all codes of sotto. Its name is "sotto".
const std::error_category& error_category() noexcept;

/// Converts an `errc` to a std::error_code.
std::error_code make_error_code(errc code) noexcept;

/// Base of every exception that sotto throws. `what()` names the failure, its place and what was
/// expected. It is one line that is safe to print: parts may come from peers, files and the
/// environment, so characters that a terminal acts on are escaped, see printable.
class error : public std::runtime_error {
public:
    /// Makes an error of this kind with this text.
    error(errc code, const std::string& text) : std::runtime_error(printable(text)), code_(code) {}
    /// Returns the kind of the error, for programs.
    std::error_code code() const noexcept { return make_error_code(code_); }

private:
    errc code_;
};

/// An option, flag or argument that cannot work. The text names it, its value and what is allowed.
class invalid_option : public error {
public:
    /// `text` names the option, its value and what is allowed.
    explicit invalid_option(const std::string& text) : error(errc::invalid_option, text) {}
};

/// Ranks that were built or started with different values. The text names the field, both values
/// and both ranks.
class mismatch : public error {
public:
    /// `text` names the field, both values and both ranks.
    explicit mismatch(const std::string& text) : error(errc::mismatch, text) {}
};

/// A file that the system did not open, read or write. The text names it and the system's reason.
class io_failure : public error {
public:
    /// `text` names the file, the operation and the system's reason.
    explicit io_failure(const std::string& text) : error(errc::io, text) {}
};

/// A log, report or stream that lacks data because a write failed. The text names it and the
/// system's reason. Computed results are not affected.
class output_incomplete : public error {
public:
    /// `text` names the output, what it lacks and the system's reason.
    explicit output_incomplete(const std::string& text) : error(errc::output_incomplete, text) {}
};

/// A rank's gradient contains NaN or infinity; no part of it was applied or remembered. Sums and
/// messages that are not finite throw a plain `error` with the same code, because no single rank is
/// at fault.
class non_finite : public error {
public:
    /// Names the first element that is not finite: its rank, tensor and index. The text ends with
    /// `where`, such as the step.
    non_finite(int rank, std::string tensor, std::int64_t index, const std::string& where = {});

    /// Returns the rank that computed the gradient.
    int rank() const noexcept { return rank_; }
    /// Returns the name of the tensor.
    const std::string& tensor() const noexcept { return tensor_; }
    /// Returns the index of the element in the tensor.
    std::int64_t index() const noexcept { return index_; }

private:
    int rank_;
    std::string tensor_;
    std::int64_t index_;
};

/// Names the first rank that failed, not a neighbour that failed because of it. Parameters,
/// optimizer and compressor memory are as after the last completed round.
class peer_failure : public error {
public:
    /// Position of an event in a job.
    struct job_phase {
        std::int64_t epoch = 0;      // membership changes so far, not an epoch of the training data
        std::int64_t round = 0;      // number of exchanges so far
        const char* phase = "idle";  // a literal: compute, send, receive, commit, ...
    };

    /// Stores the rank, why it failed, and the job's phase when another rank noticed that.
    peer_failure(int rank, const std::string& cause, job_phase when, errc code = errc::peer_failed);

    /// Returns the rank that failed first.
    int rank() const noexcept { return rank_; }
    /// Returns why it failed, if known. The text is safe to print, like what().
    const std::string& cause() const noexcept { return cause_; }
    /// Returns the job's phase when the failure was noticed.
    const job_phase& when() const noexcept { return when_; }

private:
    static std::string membership(std::int64_t epoch);

    int rank_;
    std::string cause_;
    job_phase when_;
};

}  // namespace sotto

template <>
struct std::is_error_code_enum<sotto::errc> : std::true_type {};

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/core/errors.ipp"
#endif
