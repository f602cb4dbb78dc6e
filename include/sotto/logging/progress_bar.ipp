#pragma once

#include "sotto/logging/progress_bar.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/memory/finite.hpp"
#include "sotto/core/detail/processes/terminal.hpp"
#include "sotto/core/detail/text/number_text.hpp"
#include "sotto/logging/detail/run_ranks.hpp"
#include "sotto/logging/detail/taught_summary.hpp"
#include "sotto/logging/server_summary.hpp"

namespace sotto {

SOTTO_DECL void progress_bar::on_begin(const run_info& info) {
    const int alone = detail::serving_ranks_of(info.description).alone();
    const bool serves_alone = info.rank == 0 && alone > 0;
    shown_ = info.rank == 0 || info.rank == alone;
    live_ = shown_ && ::isatty(::fileno(out_)) == 1;
    workers_ = (std::max)(info.ranks() - alone, 1);
    bounded_ = info.epochs < (std::numeric_limits<std::int64_t>::max)();
    epochs_ = bounded_ ? info.epochs_before + info.epochs : 0;
    before_ = info.steps_before + info.steps_at_servers;
    steps_ = static_cast<double>(info.steps_max);
    if (bounded_)
        steps_ = (std::min)(
            steps_, static_cast<double>(info.epochs) * static_cast<double>(info.steps_an_epoch) -
                        static_cast<double>(info.rounds_before));
    steps_ -= static_cast<double>(info.steps_at_servers);
    next_ = 0.0;
    aimed_ = missed_ = 0;
    rest_after_ = info.resumed && info.rounds_before > 0 ? info.steps_before : 0;
    line_.reserve(256);  // on_step must not allocate
    drawn_.reserve(256);
    if (shown_ && info.resumed) tell_of_resuming(info);
    if (shown_ && info.steps_at_servers > 0)
        print("goes on after step " + std::to_string(before_) + ", " +
              (info.mixing ? "with a neighbour's parameters" : "which the servers have"));
    if (shown_ && info.serves && !info.over) print(summary_of(*info.serves));
    if (info.rank == 0 && info.servers_forget && !info.over)
        print(
            "a server that fails begins anew: give serving::checkpoints to keep what it "
            "learnt");
    if (serves_alone && !info.over)
        print("progress is shown on rank " + std::to_string(alone) + ", the first worker");
    if (info.rank == alone && info.world_size > 1 && !info.in_step && !info.over)
        print("workers need not be in step: losses are rank " + std::to_string(alone) + "'s own");
    if (shown_ && !info.model.empty() && !info.over)
        print("several models are trained: this is " + info.model + ", by " +
              std::to_string(info.ranks()) + (info.ranks() == 1 ? " rank" : " ranks"));
    taught_ = {};
    changes_told_ = 0;
    agreement_ = {};
    simulated_ = info.simulated_network.empty() ? "" : " (simulated)";
    if (info.rank == 0 && !info.simulated_network.empty() && !info.over)
        print("times are simulated, on a network of " + info.simulated_network);
}

SOTTO_DECL void progress_bar::on_step(const step_report& report) {
    if (shown_) add_teachers(report);
    aimed_ += detail::is_finite(report.round.consensus.target);
    missed_ += report.round.consensus.missed;
    if (!live_ || report.seconds < next_) return;
    next_ = report.seconds + 0.1;
    const auto steps = static_cast<double>(report.step - before_);
    const double done = steps_ > 0.0 ? (std::min)(steps / steps_, 1.0) : 0.0;
    const double rate = static_cast<double>(report.round.examples) * workers_ * steps /
                        (std::max)(report.seconds, 1e-9);
    const double left = done > 0.0 ? report.seconds * (1.0 - done) / done : 0.0;
    line_ = " ";
    add_fixed(100.0 * done, 0, 3);
    line_ += " %  loss ";
    add_loss(report.round.loss);
    line_ += "  ";
    add_scaled(rate, 1000.0, {"", "k", "M", "G"});
    line_ += " examples/s  ";
    add_bytes(report.round.bytes_sent);
    line_ += " a step  ";
    if (left < 1.0)
        line_ += "<1 s left";
    else
        detail::append_fixed(line_, left, 0), line_ += " s left";
    redraw(done);
}

SOTTO_DECL void progress_bar::on_epoch(const epoch_report& report) {
    if (!shown_) return;
    line_ = report.epoch < 10 ? "epoch  " : "epoch ";
    line_ += std::to_string(report.epoch);
    if (bounded_) line_ += "/" + std::to_string(epochs_);
    line_ += "  loss ";
    add_loss(report.loss);
    if (report.evaluated) {
        line_ += "  test loss ";
        add_loss(report.evaluated->loss);
        if (detail::is_finite(report.evaluated->accuracy))  // NaN without labels
            line_ +=
                "  accuracy " + detail::fixed_text(100.0 * report.evaluated->accuracy, 2) + " %";
        if (const auto& own = report.evaluated->own; own && detail::is_finite(own->accuracy.mean))
            line_ += " (own models " + detail::fixed_text(100.0 * own->accuracy.least, 2) + " to " +
                     detail::fixed_text(100.0 * own->accuracy.most, 2) + " %)";
    }
    if (agreement_.count > 0)
        line_ +=
            "  agrees with teachers " + detail::fixed_text(100.0 * agreement_.value(), 1) + " %";
    agreement_ = {};
    line_ += "  sent ";
    add_bytes(report.total.bytes_sent);
    line_ += " (" + beside_gradient(report.total) + ")  " + detail::fixed_text(report.seconds, 1) +
             " s" + simulated_;
    if (rest_after_ > 0)  // costs cover only the rest of the epoch, loss all of it
        line_ += ", after step " + std::to_string(rest_after_);
    rest_after_ = 0;
    print(line_);
    std::fflush(out_);
}

SOTTO_DECL void progress_bar::on_end(const fit_report& report) {
    if (!shown_) return;
    if (report.served) detail::print_lines(out_, summary_of(*report.served, simulated_));
    if (taught_.is_told()) print(summary_of(taught_));
    if (taught_.published().problems + taught_.published().skipped > 0)
        print(summary_of(taught_.published()));
    if (missed_ > 0)
        print("mixing reached its limit of rounds in " + std::to_string(missed_) + " of " +
              std::to_string(aimed_) + " steps, and missed its target: ranks were further apart");
    for (const detail::rank_loss& loss : report.losses) print(summary_of(loss));
    std::fflush(out_);
}

SOTTO_DECL std::string progress_bar::incomplete() const {
    if (!shown_ || std::ferror(out_) == 0) return {};
    return "progress_bar: its output cannot be written";
}

SOTTO_DECL void progress_bar::redraw(double done) {
    constexpr std::size_t bar_max = 24, bar_min = 4, frame = 2;
    const std::size_t columns = detail::terminal_columns(out_) - 1;
    const std::size_t text = detail::character_count(line_);
    const std::size_t room = columns > text + frame ? columns - text - frame : 0;
    const std::size_t bar = (std::min)(room, bar_max);
    drawn_ = "\r\033[K";
    if (bar >= bar_min) {
        const auto filled = static_cast<std::size_t>(
            std::clamp(std::lround(done * static_cast<double>(bar)), 0L, static_cast<long>(bar)));
        drawn_.append("[").append(filled, '#').append(bar - filled, ' ').append("]");
    }
    drawn_ += detail::first_characters(line_, columns);
    std::fwrite(drawn_.data(), 1, drawn_.size(), out_);
    std::fflush(out_);
}

SOTTO_DECL void progress_bar::add_teachers(const step_report& report) {
    if (report.round.taught.teachers > 0) agreement_.add(report.round.taught.agreement);
    taught_.add(report.step, report.round.taught);
    for (const detail::teacher_record& teacher : taught_.teachers())
        if (teacher.stands_since == report.step) tell(told_change(teacher));
    if (taught_.published().since == report.step) tell(told_change(taught_.published()));
}

SOTTO_DECL void progress_bar::tell(const std::string& change) {
    if (changes_told_ > changes_max) return;
    if (++changes_told_ <= changes_max)
        print(change);
    else
        print("further changes of teachers are not told");
}

SOTTO_DECL void progress_bar::tell_of_resuming(const run_info& info) const {
    const std::string step = std::to_string(info.steps_before);
    if (info.over) return print("nothing left to do after step " + step);
    std::string text = "goes on after step " + step;
    if (info.begins_anew)
        text += ", with a new epoch: the one that was under way was of other data";
    if (info.world_size_before != info.world_size)
        text += ", with " + std::to_string(info.world_size) +
                (info.world_size == 1 ? " worker" : " workers") + " instead of " +
                std::to_string(info.world_size_before);
    print(text);
}

SOTTO_DECL void progress_bar::add_fixed(double value, int places, std::size_t columns) {
    const std::size_t start = line_.size();
    detail::append_fixed(line_, value, places);
    if (const std::size_t size = line_.size() - start; size < columns)
        line_.insert(start, columns - size, ' ');
}

SOTTO_DECL void progress_bar::add_loss(double value) {
    if (std::abs(value) > 1e4)
        detail::append_general(line_, value, 4);
    else
        detail::append_fixed(line_, value, 4);
}

SOTTO_DECL std::string progress_bar::beside_gradient(const round_report& total) {
    const auto dense = static_cast<double>(total.dense_bytes),
               sent = static_cast<double>(total.message_bytes);
    if (total.message_bytes == 0) return "no message";
    if (sent > 1.05 * dense)
        return detail::fixed_text(sent / (std::max)(dense, 1.0), 1) + " x the gradient";
    return "gradient / " + detail::fixed_text(dense / sent, dense < 10.0 * sent ? 1 : 0);
}

SOTTO_DECL void progress_bar::add_bytes(std::int64_t count) {
    add_scaled(static_cast<double>(count), 1024.0, {" B", " KiB", " MiB", " GiB"});
}

SOTTO_DECL void progress_bar::add_scaled(double value, double step,
                                         const std::array<const char*, 4>& units) {
    std::size_t unit = 0;
    while (unit < 3 && value >= step) value /= step, ++unit;
    detail::append_fixed(line_, value, value < 10.0 && unit > 0 ? 1 : 0);
    line_ += units[unit];
}

}  // namespace sotto
