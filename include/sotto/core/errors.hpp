#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <system_error>

#include "sotto/core/printable.hpp"

namespace sotto {

/// What went wrong, as a number that programs compare. The texts are for people and may change.
enum class errc {
    malformed = 1,      // bytes from a peer or a file that do not follow their format
    invalid_option,     // a value given by the caller that cannot work
    mismatch,           // ranks that were configured differently
    non_finite,         // NaN or infinity where a number was expected
    peer_failed,        // another rank died, threw, or left
    timed_out,          // a deadline passed
    io,                 // the operating system refused to read or write
    output_incomplete,  // the work is done, but a file or stream of its output is incomplete
    altered,            // bytes between two ranks changed on the way: they are no frames
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

/// The category of all codes of sotto; its name is "sotto".
const std::error_category& error_category() noexcept;

/// So that an `errc` is a std::error_code.
std::error_code make_error_code(errc code) noexcept;

/// The base of every exception that sotto throws. `what()` says what, where and what was expected.
/// It is one line that is safe to print: parts of it may be from peers, files and the environment,
/// and what a terminal would act on is escaped, see printable.
class error : public std::runtime_error {
public:
    /// A failure of this kind, with this text.
    error(errc code, const std::string& text) : std::runtime_error(printable(text)), code_(code) {}
    /// Which kind of failure it is, for programs.
    std::error_code code() const noexcept { return make_error_code(code_); }

private:
    errc code_;
};

/// An option, flag or argument that cannot work; names it, the value given and what is allowed.
class invalid_option : public error {
public:
    /// Says which option, which value and what is allowed.
    explicit invalid_option(const std::string& text) : error(errc::invalid_option, text) {}
};

/// Ranks that were built or started with different values; names the field, both values, both
/// ranks.
class mismatch : public error {
public:
    /// Says which field, both values and both ranks.
    explicit mismatch(const std::string& text) : error(errc::mismatch, text) {}
};

/// A file that the system would not open, read or write; names it and the system's reason.
class io_failure : public error {
public:
    /// Says which file, what was tried and the system's reason.
    explicit io_failure(const std::string& text) : error(errc::io, text) {}
};

/// A log, report or stream that lacks what could not be written; names it and the system's reason.
/// What was computed is not affected.
class output_incomplete : public error {
public:
    /// Says which output, what it lacks and the system's reason.
    explicit output_incomplete(const std::string& text) : error(errc::output_incomplete, text) {}
};

/// A rank's gradient with NaN or infinity in it; nothing of it was applied or remembered. Sums and
/// messages that are not finite are plain errors with the same code, since no single rank is to
/// blame.
class non_finite : public error {
public:
    /// The first element found that is not finite: of this rank's gradient, at this place of the
    /// tensor. `where` follows, such as the step.
    non_finite(int rank, std::string tensor, std::int64_t index, const std::string& where = {});

    /// Whose gradient it is.
    int rank() const noexcept { return rank_; }
    /// The name of the tensor.
    const std::string& tensor() const noexcept { return tensor_; }
    /// The element's place in the tensor.
    std::int64_t index() const noexcept { return index_; }

private:
    int rank_;
    std::string tensor_;
    std::int64_t index_;
};

/// A rank failed, and this is the first one that did: not a neighbour that gave up because of it.
/// Parameters, optimizer and compressor memory stand as after the last completed round.
class peer_failure : public error {
public:
    /// Where in a job something happened.
    struct job_phase {
        std::int64_t epoch = 0;  // changes of membership so far: not an epoch of the training data
        std::int64_t round = 0;  // exchanges so far
        const char* phase = "idle";  // a literal: compute, send, receive, commit, ...
    };

    /// The rank, why it failed, and where the job stood when that was noticed.
    peer_failure(int rank, const std::string& cause, job_phase when, errc code = errc::peer_failed);

    /// Which rank failed first.
    int rank() const noexcept { return rank_; }
    /// Why it failed, as far as it is known; safe to print, as what() is.
    const std::string& cause() const noexcept { return cause_; }
    /// Where the job stood when that was noticed.
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
