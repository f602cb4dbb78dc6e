#pragma once

#include "sotto/strategies/detail/parameter_server/arrival_order.hpp"

#include <algorithm>
#include <cstdio>
#include <system_error>
#include <utility>

#include "sotto/checkpoint/detail/digest.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/detail/files/input_file.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/wire/detail/coding/little_endian.hpp"
#include "sotto/wire/detail/protocols/push.hpp"

namespace sotto::detail {

SOTTO_DECL std::string arrivals_of::text() const {
    std::string out = "sotto arrivals 1\nserver = " + std::to_string(server) +
                      "\nworkers = " + std::to_string(workers) +
                      "\nversion = " + std::to_string(version) + "\n" + configuration;
    return out + "arrivals:\n";
}

SOTTO_DECL arrival arrival_of(int worker, byte_view push) {
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

SOTTO_DECL std::string told(const arrival& a) {
    if (a.kind == arrival_kind::answers) return "answers";
    const std::string worker = "worker " + std::to_string(a.worker);
    switch (a.kind) {
        case arrival_kind::begins: return "that " + worker + " begins";
        case arrival_kind::done: return "that " + worker + " is done";
        case arrival_kind::went: return "that " + worker + " went";
        default: return worker + "'s gradient of round " + std::to_string(a.round);
    }
}

SOTTO_DECL arrival_recorder::arrival_recorder(std::string path, const diagnostics& says)
    : says_(says), file_(std::move(path)) {
    if (const std::error_code reason = file_.open_empty())
        throw io_failure("parameter_server: '" + file_.path() +
                         "' cannot be opened for the order of arrivals: " + reason.message());
}

SOTTO_DECL void arrival_recorder::begin(const arrivals_of& what) {
    write(what.text());
    flush();
}

SOTTO_DECL void arrival_recorder::took(int worker, byte_view push, bool dropped,
                                       std::uint64_t version, time_point now) {
    if (!failure_.empty()) return;
    arrival a = detail::arrival_of(worker, push);
    if (dropped) a.kind = arrival_kind::dropped;
    a.version = static_cast<std::int64_t>(version);
    add(std::move(a), now);
}

SOTTO_DECL void arrival_recorder::went(int worker, time_point now) {
    add({.kind = arrival_kind::went, .worker = worker}, now);
}

SOTTO_DECL void arrival_recorder::answered(std::span<const int> workers, time_point now) {
    if (!std::exchange(has_come_, false) && workers.empty()) return;
    add({.kind = arrival_kind::answers, .answered = {workers.begin(), workers.end()}}, now);
    has_come_ = false;
    flush();
}

SOTTO_DECL void arrival_recorder::add(arrival a, time_point now) {
    if (!origin_) origin_ = now;
    a.at = std::max<std::int64_t>((now - *origin_).count(), 0);
    has_come_ = true;
    write(text_of(a) + "\n");
}

SOTTO_DECL void arrival_recorder::write(const std::string& text) {
    if (failure_.empty()) lines_ += text;
    if (lines_.size() > lines_bytes_max) flush();
}

SOTTO_DECL void arrival_recorder::flush() {
    if (!failure_.empty() || lines_.empty()) return;
    lines_.pop_back();  // the last line's end is the file's to write
    const std::error_code reason = file_.write(std::exchange(lines_, {}));
    if (!reason) return;
    file_.close();
    failure_ = "'" + file_.path() + "' cannot be written: " + reason.message() +
               "; the order of arrivals ends there";
    says_.say("parameter_server: " + failure_ + ", training goes on");
}

SOTTO_DECL arrival_order::arrival_order(std::string path, int workers)
    : path_(std::move(path)), held_(static_cast<std::size_t>(workers)), waits_(held_.size()) {
    std::error_code why;
    file_ = detail::open_regular_stream(path_.c_str(), why);
    if (why)
        throw io_failure("parameter_server: the order of arrivals '" + path_ +
                         "' cannot be opened: " + why.message());
}

SOTTO_DECL void arrival_order::begin(const arrivals_of& what) {
    std::string_view expected;
    const std::string all = what.text();
    for (std::string_view rest = all; !rest.empty(); rest.remove_prefix(expected.size() + 1)) {
        expected = rest.substr(0, rest.find('\n'));
        if (!read_line()) refuse(quoted(expected), "the end of the file");
        if (text_ != expected) refuse(quoted(expected) + ", as this run has it", quoted(text_));
    }
    advance();
}

SOTTO_DECL void arrival_order::advance() {
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

SOTTO_DECL void arrival_order::hold(int worker, byte_view push) {
    auto& slot = held_[static_cast<std::size_t>(worker)];
    slot.emplace(push.begin(), push.end());
}

SOTTO_DECL const bytes* arrival_order::due() const {
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

SOTTO_DECL void arrival_order::took(bool dropped, std::uint64_t version) {
    held_[static_cast<std::size_t>(next_->worker)].reset();
    waits_[static_cast<std::size_t>(next_->worker)] = next_->kind != arrival_kind::done;
    if (next_->is_gradient() && (dropped != (next_->kind == arrival_kind::dropped) ||
                                 version != static_cast<std::uint64_t>(next_->version)))
        refuse(told(*next_) + " to lead to version " + std::to_string(next_->version) +
                   (next_->kind == arrival_kind::dropped ? ", dropped" : ""),
               "version " + std::to_string(version) + (dropped ? ", dropped" : ""));
    advance();
}

SOTTO_DECL void arrival_order::answered(std::span<const int> workers) {
    if (!std::equal(workers.begin(), workers.end(), next_->answered.begin(), next_->answered.end()))
        refuse("answers for " + list(next_->answered), list(workers));
    for (const int worker : workers) waits_[static_cast<std::size_t>(worker)] = false;
    advance();
}

SOTTO_DECL void arrival_order::require_none() const {
    constexpr const char* end = "nothing more: the order ends";
    for (std::size_t worker = 0; worker < held_.size(); ++worker) {
        if (held_[worker])
            refuse(end, told(detail::arrival_of(static_cast<int>(worker), *held_[worker])));
        if (waits_[worker])
            refuse(end, "worker " + std::to_string(worker) + ", which waits for an answer");
    }
}

SOTTO_DECL void arrival_order::refuse_went(int worker) const {
    refuse(next_ ? told(*next_) : "nothing more",
           detail::told({.kind = arrival_kind::went, .worker = worker}));
}

SOTTO_DECL std::string arrival_order::list(std::span<const int> workers) {
    std::string out = workers.empty() ? "nobody" : "";
    for (const int worker : workers)
        out += (out.empty() ? "worker " : ", worker ") + std::to_string(worker);
    return out;
}

SOTTO_DECL std::string arrival_order::quoted(std::string_view text) {
    return "'" + std::string(text.substr(0, 200)) + "'";
}

SOTTO_DECL bool arrival_order::read_line() {
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

SOTTO_DECL std::string arrival_order::where() const {
    return "the order of arrivals '" + path_ + "', line " + std::to_string(line_);
}

SOTTO_DECL void arrival_order::refuse(const std::string& expected, const std::string& found) const {
    throw mismatch(where() + ": expected " + expected + "; there is " + found);
}

}  // namespace sotto::detail
