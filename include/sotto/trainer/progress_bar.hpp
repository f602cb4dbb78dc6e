#pragma once

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>

#include "sotto/trainer/callback.hpp"
#include "sotto/trainer/run_consensus.hpp"
#include "sotto/trainer/run_ranks.hpp"
#include "sotto/trainer/server_summary.hpp"
#include "sotto/trainer/taught_record.hpp"
#include "sotto/trainer/taught_summary.hpp"

namespace sotto {

/// Shows how rank 0 is doing. On a terminal: one line for the epoch under way, redrawn at most ten
/// times a second, and one line for every epoch report, which stays. Where the output is not a
/// terminal: no line is redrawn, the lines for epochs are written. A run that was resumed says
/// first where it goes on. Where rank 0 serves others, it says in the beginning what memory that
/// takes, and whether a server that fails forgets, and in the end how late their gradients came,
/// what was saved and which ranks went; of gossip, in how many steps its controller could not get
/// ranks as close as it was to; where it does nothing else, the first rank that trains shows how it
/// is doing in its place. Where other models teach its own, it says when one of them is heard or
/// left out, and when its own cannot be published for them or can again, of many changes the
/// first, and in the end what became of each. Where times are
/// simulated, losses a worker's own, or several models trained, it says so. Other ranks write
/// nothing.
class progress_bar {
public:
    /// Writes to this file, which stays open.
    explicit progress_bar(std::FILE* out = stderr) noexcept : out_(out) {}

    void on_begin(const run_info& info) {
        const int alone = serving_ranks_of(info.description).alone();
        const bool serves_alone = info.rank == 0 && alone > 0;
        shown_ = info.rank == 0 || info.rank == alone;
        live_ = shown_ && ::isatty(::fileno(out_)) == 1;
        workers_ = (std::max)(info.ranks() - alone, 1);
        bounded_ = info.epochs < (std::numeric_limits<std::int64_t>::max)();
        epochs_ = bounded_ ? info.epochs_before + info.epochs : 0;
        before_ = info.steps_before + info.steps_at_servers;
        steps_ = static_cast<double>(info.steps_max);
        if (bounded_)
            steps_ = (std::min)(steps_, static_cast<double>(info.epochs) *
                                                static_cast<double>(info.steps_an_epoch) -
                                            static_cast<double>(info.rounds_before));
        steps_ -= static_cast<double>(info.steps_at_servers);
        next_ = 0.0;
        aimed_ = missed_ = 0;
        rest_after_ = info.resumed && info.rounds_before > 0 ? info.steps_before : 0;
        if (shown_ && info.resumed) tell_of_resuming(info);
        if (shown_ && info.steps_at_servers > 0)
            std::fprintf(out_, "goes on after step %lld, %s\n", static_cast<long long>(before_),
                         info.mixing ? "with a neighbour's parameters" : "which the servers have");
        if (shown_ && info.serves && !info.over)
            std::fprintf(out_, "%s\n", summary_of(*info.serves).c_str());
        if (info.rank == 0 && info.servers_forget && !info.over)
            std::fputs(
                "a server that fails begins anew: give serving::checkpoints to keep what it "
                "learnt\n",
                out_);
        if (serves_alone && !info.over)
            std::fprintf(out_, "progress is shown on rank %d, the first worker\n", alone);
        if (info.rank == alone && info.world_size > 1 && !info.in_step && !info.over)
            std::fprintf(out_, "workers need not be in step: losses are rank %d's own\n", alone);
        if (shown_ && !info.model.empty() && !info.over)
            std::fprintf(out_, "several models are trained: this is %s, by %d rank%s\n",
                         info.model.c_str(), info.ranks(), info.ranks() == 1 ? "" : "s");
        taught_ = {};
        changes_told_ = 0;
        agreement_ = {};
        simulated_ = info.simulated_network.empty() ? "" : " (simulated)";
        if (info.rank == 0 && !info.simulated_network.empty() && !info.over)
            std::fprintf(out_, "times are simulated, on a network of %s\n",
                         info.simulated_network.c_str());
    }

    void on_step(const step_report& report) {
        if (shown_) add_teachers(report);
        aimed_ += std::isfinite(report.round.consensus.target);
        missed_ += report.round.consensus.missed;
        if (!live_ || report.seconds < next_) return;
        next_ = report.seconds + 0.1;
        const auto steps = static_cast<double>(report.step - before_);
        const double done = steps_ > 0.0 ? (std::min)(steps / steps_, 1.0) : 0.0;
        const double rate = static_cast<double>(report.round.examples) * workers_ * steps /
                            (std::max)(report.seconds, 1e-9);
        const double left = done > 0.0 ? report.seconds * (1.0 - done) / done : 0.0;
        constexpr int width = 24;
        const int filled = std::clamp(static_cast<int>(std::lround(done * width)), 0, width);
        std::fprintf(out_, "\r\033[K[%.*s%*s] %3.0f %%  loss %s  %s examples/s  %s a step  ",
                     filled, "########################", width - filled, "", 100.0 * done,
                     number(report.round.loss).text, counted(rate).text,
                     bytes(static_cast<double>(report.round.bytes_sent)).text);
        if (left < 1.0)
            std::fputs("<1 s left", out_);
        else
            std::fprintf(out_, "%.0f s left", left);
        std::fflush(out_);
    }

    void on_epoch(const epoch_report& report) noexcept {
        if (!shown_) return;
        if (live_) std::fputs("\r\033[K", out_);
        std::fprintf(out_, "epoch %2lld", static_cast<long long>(report.epoch));
        if (bounded_) std::fprintf(out_, "/%lld", static_cast<long long>(epochs_));
        std::fprintf(out_, "  loss %s", number(report.loss).text);
        if (report.evaluated) {
            std::fprintf(out_, "  test loss %s", number(report.evaluated->loss).text);
            if (std::isfinite(report.evaluated->accuracy))  // else there were no labels
                std::fprintf(out_, "  accuracy %.2f %%", 100.0 * report.evaluated->accuracy);
            if (const auto& own = report.evaluated->own; own && std::isfinite(own->accuracy.mean))
                std::fprintf(out_, " (own models %.2f to %.2f %%)", 100.0 * own->accuracy.least,
                             100.0 * own->accuracy.most);
        }
        if (agreement_.count > 0)
            std::fprintf(out_, "  agrees with teachers %.1f %%", 100.0 * agreement_.value());
        agreement_ = {};
        std::fprintf(out_, "  sent %s (%s)  %.1f s%s",
                     bytes(static_cast<double>(report.total.bytes_sent)).text,
                     beside_gradient(report.total).text, report.seconds, simulated_);
        if (rest_after_ > 0)  // loss alone is of all of it
            std::fprintf(out_, ", after step %lld", static_cast<long long>(rest_after_));
        rest_after_ = 0;
        std::fputc('\n', out_);
        std::fflush(out_);
    }

    void on_end(const fit_report& report) {
        if (!shown_) return;
        if (report.served) std::fputs(summary_of(*report.served, simulated_).c_str(), out_);
        if (taught_.is_told()) std::fprintf(out_, "%s\n", summary_of(taught_).c_str());
        if (taught_.published().problems + taught_.published().skipped > 0)
            std::fprintf(out_, "%s\n", summary_of(taught_.published()).c_str());
        if (missed_ > 0)
            std::fprintf(out_,
                         "mixing reached its limit of rounds in %lld of %lld steps, and missed its "
                         "target: ranks were further apart\n",
                         static_cast<long long>(missed_), static_cast<long long>(aimed_));
        for (const rank_loss& loss : report.losses)
            std::fprintf(out_, "%s\n", summary_of(loss).c_str());
        std::fflush(out_);
    }

private:
    static constexpr int changes_max = 20;

    void add_teachers(const step_report& report) {
        if (report.round.taught.teachers > 0) agreement_.add(report.round.taught.agreement);
        taught_.add(report.step, report.round.taught);
        for (const teacher_record& teacher : taught_.teachers())
            if (teacher.stands_since == report.step) tell(told_change(teacher));
        if (taught_.published().since == report.step) tell(told_change(taught_.published()));
    }

    void tell(const std::string& change) {
        if (changes_told_ > changes_max) return;
        if (live_) std::fputs("\r\033[K", out_);
        if (++changes_told_ <= changes_max)
            std::fprintf(out_, "%s\n", change.c_str());
        else
            std::fputs("further changes of teachers are not told\n", out_);
    }

    void tell_of_resuming(const run_info& info) const noexcept {
        const auto step = static_cast<long long>(info.steps_before);
        if (info.over)
            std::fprintf(out_, "nothing left to do after step %lld\n", step);
        else
            std::fprintf(out_, "goes on after step %lld%s", step,
                         info.begins_anew ? ", with a new epoch: the one that was under way was "
                                            "of other data"
                                          : "");
        if (!info.over && info.world_size_before != info.world_size)
            std::fprintf(out_, ", with %d worker%s instead of %d", info.world_size,
                         info.world_size == 1 ? "" : "s", info.world_size_before);
        if (!info.over) std::fputc('\n', out_);
    }

    struct short_text {
        char text[24];
    };

    /// A loss: four places, or as many digits where it has run away.
    static short_text number(double value) noexcept {
        short_text out;
        std::snprintf(out.text, sizeof out.text, std::abs(value) > 1e4 ? "%.4g" : "%.4f", value);
        return out;
    }

    /// What messages are of gradients: as many times less, or more.
    static short_text beside_gradient(const round_report& total) noexcept {
        short_text out;
        const auto dense = static_cast<double>(total.dense_bytes),
                   sent = static_cast<double>(total.message_bytes);
        if (total.message_bytes == 0)
            std::snprintf(out.text, sizeof out.text, "no message");
        else if (sent > 1.05 * dense)
            std::snprintf(out.text, sizeof out.text, "%.1f x the gradient",
                          sent / (std::max)(dense, 1.0));
        else
            std::snprintf(out.text, sizeof out.text, "gradient / %.*f", dense < 10.0 * sent ? 1 : 0,
                          dense / sent);
        return out;
    }

    static short_text counted(double value) noexcept {
        return scaled(value, 1000.0, "", "k", "M", "G");
    }
    static short_text bytes(double value) noexcept {
        return scaled(value, 1024.0, " B", " KiB", " MiB", " GiB");
    }

    static short_text scaled(double value, double step, const char* u0, const char* u1,
                             const char* u2, const char* u3) noexcept {
        const char* units[] = {u0, u1, u2, u3};
        int unit = 0;
        while (unit < 3 && value >= step) value /= step, ++unit;
        short_text out;
        std::snprintf(out.text, sizeof out.text, value < 10.0 && unit > 0 ? "%.1f%s" : "%.0f%s",
                      value, units[unit]);
        return out;
    }

    std::FILE* out_;
    bool shown_ = false;
    bool live_ = false;
    const char* simulated_ = "";  // what is said beside times
    int workers_ = 1;
    bool bounded_ = false;  // whether the number of epochs is
    std::int64_t epochs_ = 0;
    std::int64_t before_ = 0;  // steps of earlier calls of fit
    double steps_ = 0.0;       // expected of this one
    double next_ = 0.0;
    std::int64_t aimed_ = 0, missed_ = 0;  // steps with a target for mixing, and without success
    std::int64_t rest_after_ = 0;  // the epoch under way was begun by an earlier process; or 0
    taught_record taught_;         // in this call of fit
    int changes_told_ = 0;
    measured_mean agreement_;  // with teachers, in this epoch
};

}  // namespace sotto
