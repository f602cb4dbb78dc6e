#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "sotto/checkpoint/detail/digest.hpp"
#include "sotto/core/bytes.hpp"
#include "sotto/core/clock.hpp"
#include "sotto/core/detail/files/descriptor.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/detail/files/input_file.hpp"
#include "sotto/core/detail/files/line_file.hpp"
#include "sotto/strategies/detail/parameter_server/arrival.hpp"
#include "sotto/transports/remarks.hpp"
#include "sotto/wire/detail/coding/little_endian.hpp"
#include "sotto/wire/detail/protocols/push.hpp"

namespace sotto::detail {

/// What an order of arrivals is of: where any of it differs, it cannot be followed.
struct arrivals_of {
    int server = 0;               // its rank
    int workers = 0;              // that it has
    std::uint64_t version = 0;    // of the server, when the first came
    std::string configuration{};  // a line for each option and tensor

    /// The head of the file.
    std::string text() const {
        std::string out = "sotto arrivals 1\nserver = " + std::to_string(server) +
                          "\nworkers = " + std::to_string(workers) +
                          "\nversion = " + std::to_string(version) + "\n" + configuration;
        return out + "arrivals:\n";
    }
};

/// A push as it came, before the server has seen it.
inline arrival arrival_of(int worker, byte_view push) {
    arrival a{.worker = worker};
    const auto head = wire::read_push_header(push);  // what is none the server refuses
    const auto kind = head ? head->kind : wire::push_kind::attach;
    a.kind = wire::begins(kind)              ? arrival_kind::begins
             : kind == wire::push_kind::done ? arrival_kind::done
                                             : arrival_kind::gradient;
    if (a.kind != arrival_kind::gradient) return a;
    constexpr std::uint64_t most = std::uint64_t{1} << 62;
    const auto whole = [&](std::size_t at) {
        const auto number = wire::load_little_endian<std::uint64_t>(push.data() + at);
        return static_cast<std::int64_t>((std::min)(number, most));
    };
    a.round = whole(8);
    a.read = whole(16);
    const checkpoint::digest all = checkpoint::digest_of(push);
    for (std::size_t i = 0; i < 8; ++i)
        a.digest = a.digest << 8 | std::to_integer<std::uint64_t>(all[i]);
    return a;
}

/// For errors: "worker 2's gradient of round 5".
inline std::string told(const arrival& a) {
    if (a.kind == arrival_kind::answers) return "answers";
    const std::string worker = "worker " + std::to_string(a.worker);
    switch (a.kind) {
        case arrival_kind::begins: return "that " + worker + " begins";
        case arrival_kind::done: return "that " + worker + " is done";
        case arrival_kind::went: return "that " + worker + " went";
        default: return worker + "'s gradient of round " + std::to_string(a.round);
    }
}

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
    arrival_recorder(std::filesystem::path path, const remarks& says)
        : says_(says), file_(std::move(path)) {
        if (const std::error_code reason = file_.open_empty())
            throw io_failure("parameter_server: '" + file_.path().string() +
                             "' cannot be opened for the order of arrivals: " + reason.message());
    }

    /// Writes what the order is of.
    void begin(const arrivals_of& what) {
        write(what.text());
        flush();
    }
    /// A push that the server took; what it then was.
    void took(int worker, byte_view push, bool dropped, std::uint64_t version, time_point now) {
        if (!failure_.empty()) return;
        arrival a = detail::arrival_of(worker, push);
        if (dropped) a.kind = arrival_kind::dropped;
        a.version = static_cast<std::int64_t>(version);
        add(std::move(a), now);
    }
    /// A worker is gone.
    void went(int worker, time_point now) {
        add({.kind = arrival_kind::went, .worker = worker}, now);
    }
    /// Where nothing came since the last time, nobody may go who might not then.
    /// The workers that were given parameters.
    void answered(std::span<const int> workers, time_point now) {
        if (!std::exchange(has_come_, false) && workers.empty()) return;
        add({.kind = arrival_kind::answers, .answered = {workers.begin(), workers.end()}}, now);
        has_come_ = false;
        flush();
    }
    /// Why the order ends before the training did; empty: it does not.
    const std::string& failure() const noexcept { return failure_; }

private:
    void add(arrival a, time_point now) {
        if (!origin_) origin_ = now;
        a.at = std::max<std::int64_t>((now - *origin_).count(), 0);
        has_come_ = true;
        write(text_of(a) + "\n");
    }

    void write(const std::string& text) {
        if (failure_.empty()) lines_ += text;
        if (lines_.size() > lines_bytes_max) flush();
    }
    /// Whole lines, in one call of the system.
    void flush() {
        if (!failure_.empty() || lines_.empty()) return;
        lines_.pop_back();  // the last line's end is the file's to write
        const std::error_code reason = file_.write(std::exchange(lines_, {}));
        if (!reason) return;
        file_.close();
        failure_ = "'" + file_.path().string() + "' cannot be written: " + reason.message() +
                   "; the order of arrivals ends there";
        says_.say("parameter_server: " + failure_ + ", training goes on");
    }

    static constexpr std::size_t lines_bytes_max = 1 << 16;

    remarks says_;
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
    explicit arrival_order(std::filesystem::path path, int workers)
        : path_(std::move(path)), held_(static_cast<std::size_t>(workers)), waits_(held_.size()) {
        std::error_code why;
        file_ = detail::open_regular_stream(path_.c_str(), why);
        if (why)
            throw io_failure("parameter_server: the order of arrivals '" + path_.string() +
                             "' cannot be opened: " + why.message());
    }

    /// Before the first: whether the order is of what is to follow it.
    void begin(const arrivals_of& what) {
        std::string_view expected;
        const std::string all = what.text();
        for (std::string_view rest = all; !rest.empty(); rest.remove_prefix(expected.size() + 1)) {
            expected = rest.substr(0, rest.find('\n'));
            if (!read_line()) refuse(quoted(expected), "the end of the file");
            if (text_ != expected) refuse(quoted(expected) + ", as this run has it", quoted(text_));
        }
        advance();
    }

    /// What is to come next; null where the order is over.
    const arrival* next() const noexcept { return next_ ? &*next_ : nullptr; }
    /// Goes on to the next arrival; throws malformed, or mismatch for one that cannot be followed.
    void advance() {
        next_.reset();
        if (!read_line()) return;
        auto read = read_arrival(text_);
        if (!read) throw error(errc::malformed, where() + ": " + read.why().text());
        const bool known = read->worker < static_cast<int>(held_.size());
        if (!known) refuse("a worker of " + std::to_string(held_.size()), told(*read));
        next_ = *std::move(read);
        if (next_->kind == arrival_kind::went)
            refuse("an order in which nobody went", detail::told(*next_));
    }
    /// When the next one came, as the recorder had it.
    time_point time() const noexcept { return time_point(duration(next_->at)); }

    /// A push that came.
    void hold(int worker, byte_view push) {
        auto& slot = held_[static_cast<std::size_t>(worker)];
        slot.emplace(push.begin(), push.end());
    }
    /// The push whose turn it is; null while it has not come.
    const bytes* due() const {
        const auto& slot = held_[static_cast<std::size_t>(next_->worker)];
        if (!slot) {
            // It would be waited for in vain: it has pushed, and waits for an answer.
            if (waits_[static_cast<std::size_t>(next_->worker)])
                refuse("an answer for worker " + std::to_string(next_->worker), told(*next_));
            return nullptr;
        }
        const arrival found = detail::arrival_of(next_->worker, *slot);
        const bool same_kind = next_->is_gradient() == found.is_gradient() &&
                               (next_->is_gradient() || next_->kind == found.kind);
        if (!same_kind || next_->round != found.round) refuse(told(*next_), told(found));
        if (next_->read != found.read)
            refuse(told(*next_) + " at version " + std::to_string(next_->read),
                   "it at version " + std::to_string(found.read));
        if (next_->digest != found.digest)
            refuse(told(*next_) + " as it was recorded",
                   "another one: the data, the model, the seed or the program differ");
        return &*slot;
    }
    /// It was taken; what the server then was.
    void took(bool dropped, std::uint64_t version) {
        held_[static_cast<std::size_t>(next_->worker)].reset();
        waits_[static_cast<std::size_t>(next_->worker)] = next_->kind != arrival_kind::done;
        if (next_->is_gradient() && (dropped != (next_->kind == arrival_kind::dropped) ||
                                     version != static_cast<std::uint64_t>(next_->version)))
            refuse(told(*next_) + " to lead to version " + std::to_string(next_->version) +
                       (next_->kind == arrival_kind::dropped ? ", dropped" : ""),
                   "version " + std::to_string(version) + (dropped ? ", dropped" : ""));
        advance();
    }
    /// These workers were given parameters; throws mismatch if the order has others.
    void answered(std::span<const int> workers) {
        if (!std::equal(workers.begin(), workers.end(), next_->answered.begin(),
                        next_->answered.end()))
            refuse("answers for " + list(next_->answered), list(workers));
        for (const int worker : workers) waits_[static_cast<std::size_t>(worker)] = false;
        advance();
    }

    /// After the end nothing may come, and nobody be left without an answer.
    void require_none() const {
        constexpr const char* end = "nothing more: the order ends";
        for (std::size_t worker = 0; worker < held_.size(); ++worker) {
            if (held_[worker])
                refuse(end, told(detail::arrival_of(static_cast<int>(worker), *held_[worker])));
            if (waits_[worker])
                refuse(end, "worker " + std::to_string(worker) + ", which waits for an answer");
        }
    }
    /// Throws mismatch: a worker is gone, which no order has.
    [[noreturn]] void refuse_went(int worker) const {
        refuse(next_ ? told(*next_) : "nothing more",
               detail::told({.kind = arrival_kind::went, .worker = worker}));
    }

private:
    static std::string told(const arrival& a) { return detail::told(a); }
    static std::string list(std::span<const int> workers) {
        std::string out = workers.empty() ? "nobody" : "";
        for (const int worker : workers)
            out += (out.empty() ? "worker " : ", worker ") + std::to_string(worker);
        return out;
    }
    static std::string quoted(std::string_view text) {
        return "'" + std::string(text.substr(0, 200)) + "'";
    }

    /// False at the end; a line that was cut off is none.
    bool read_line() {
        constexpr std::size_t longest = std::size_t{1} << 24;
        text_.clear();
        ++line_;
        int c;
        while ((c = std::getc(file_.get())) != EOF && c != '\n') {
            text_ += static_cast<char>(c);
            if (text_.size() > longest) throw error(errc::malformed, where() + ": is too long");
        }
        if (std::ferror(file_.get()) != 0) throw io_failure(where() + ": cannot be read");
        return c == '\n';
    }

    std::string where() const {
        return "the order of arrivals '" + path_.string() + "', line " + std::to_string(line_);
    }
    [[noreturn]] void refuse(const std::string& expected, const std::string& found) const {
        throw mismatch(where() + ": expected " + expected + "; there is " + found);
    }

    std::filesystem::path path_;
    detail::input_stream file_;
    std::string text_;
    std::int64_t line_ = 0;
    std::optional<arrival> next_;
    std::vector<std::optional<bytes>> held_;
    std::vector<bool> waits_;  // for an answer
};

}  // namespace sotto::detail
