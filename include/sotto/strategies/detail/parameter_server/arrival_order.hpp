#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sotto/core/bytes.hpp"
#include "sotto/core/clock.hpp"
#include "sotto/core/detail/files/descriptor.hpp"
#include "sotto/core/detail/files/line_file.hpp"
#include "sotto/strategies/detail/parameter_server/arrival.hpp"
#include "sotto/transports/diagnostics.hpp"

namespace sotto::detail {

/// What an order of arrivals is of: where any of it differs, it cannot be followed.
struct arrivals_of {
    int server = 0;               // its rank
    int workers = 0;              // that it has
    std::uint64_t version = 0;    // of the server, when the first came
    std::string configuration{};  // a line for each option and tensor

    /// The head of the file.
    std::string text() const;
};

/// A push as it came, before the server has seen it.
arrival arrival_of(int worker, byte_view push);

/// For errors: "worker 2's gradient of round 5".
std::string told(const arrival& a);

/// Writes the order in which a server was told what, and when it answered whom: all that, besides
/// the gradients themselves, its parameters depend on. A disk that fails, or a file that others
/// remove, ends the record, not the training.
///   wire    text: what the order is of, see arrivals_of, then a line for each arrival, see
///           text_of, in order. What a killed process has written can be followed up to there
///   cost    a digest of each push and a line, and a call of the system for each look at who may go
///   errors  the constructor throws io_failure, naming the file and the system's reason
class arrival_recorder {
public:
    /// Writes the file anew; throws io_failure if it cannot be opened.
    arrival_recorder(std::string path, const diagnostics& says);

    /// Writes what the order is of.
    void begin(const arrivals_of& what);
    /// A push that the server took; what it then was.
    void took(int worker, byte_view push, bool dropped, std::uint64_t version, time_point now);
    /// A worker is gone.
    void went(int worker, time_point now);
    /// Where nothing came since the last time, nobody may go who might not then.
    /// The workers that were given parameters.
    void answered(std::span<const int> workers, time_point now);
    /// Why the order ends before the training did; empty: it does not.
    const std::string& failure() const noexcept { return failure_; }

private:
    void add(arrival a, time_point now);

    void write(const std::string& text);
    /// Whole lines, in one call of the system.
    void flush();

    static constexpr std::size_t lines_bytes_max = 1 << 16;

    diagnostics says_;
    detail::line_file file_;
    std::string lines_;  // that are not written yet
    std::string failure_;
    std::optional<time_point> origin_;
    bool has_come_ = false;
};

/// An order of arrivals that a server is to follow: what comes before its turn is held back.
///   cost    memory of the pushes that are held, one a worker at most
///   errors  io_failure; malformed, naming file and line; mismatch, naming what was expected and
///           what is there instead: another configuration, a gradient that is not the recorded one,
///           a worker that went, arrivals after the order's end
class arrival_order {
public:
    /// Opens the file; throws io_failure if it cannot be opened, or is no regular file.
    explicit arrival_order(std::string path, int workers);

    /// Before the first: whether the order is of what is to follow it.
    void begin(const arrivals_of& what);

    /// What is to come next; null where the order is over.
    const arrival* next() const noexcept { return next_ ? &*next_ : nullptr; }
    /// Goes on to the next arrival; throws malformed, or mismatch for one that cannot be followed.
    void advance();
    /// When the next one came, as the recorder had it.
    time_point time() const noexcept { return time_point(duration(next_->at)); }

    /// A push that came.
    void hold(int worker, byte_view push);
    /// The push whose turn it is; null while it has not come.
    const bytes* due() const;
    /// It was taken; what the server then was.
    void took(bool dropped, std::uint64_t version);
    /// These workers were given parameters; throws mismatch if the order has others.
    void answered(std::span<const int> workers);

    /// After the end nothing may come, and nobody be left without an answer.
    void require_none() const;
    /// Throws mismatch: a worker is gone, which no order has.
    [[noreturn]] void refuse_went(int worker) const;

private:
    static std::string told(const arrival& a) { return detail::told(a); }
    static std::string list(std::span<const int> workers);
    static std::string quoted(std::string_view text);

    /// False at the end; a line that was cut off is none.
    bool read_line();

    std::string where() const;
    [[noreturn]] void refuse(const std::string& expected, const std::string& found) const;

    std::string path_;
    detail::input_stream file_;
    std::string text_;
    std::int64_t line_ = 0;
    std::optional<arrival> next_;
    std::vector<std::optional<bytes>> held_;
    std::vector<bool> waits_;  // for an answer
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/detail/parameter_server/arrival_order.ipp"
#endif
