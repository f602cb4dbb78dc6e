#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "sotto/core/detail/text/print_line.hpp"
#include "sotto/logging/detail/run_consensus.hpp"
#include "sotto/logging/detail/taught_record.hpp"
#include "sotto/trainer/callback.hpp"

namespace sotto {

/// Shows how rank 0 is doing. On a terminal: one line for the epoch under way, redrawn at most ten
/// times a second and never wider than the terminal, and one line for every epoch report, which
/// stays. Where the output is not a
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

    void on_begin(const run_info& info);

    void on_step(const step_report& report);

    void on_epoch(const epoch_report& report);

    void on_end(const fit_report& report);

    /// Why the output lacks something; empty: it has all that was shown.
    std::string incomplete() const;

private:
    static constexpr int changes_max = 20;

    void print(std::string_view line) const noexcept { detail::print_line(out_, line); }

    /// As wide as the terminal is now, but for its last column: a terminal goes on in the next row
    /// after that, and what is redrawn would begin there.
    void redraw(double done);

    void add_teachers(const step_report& report);

    void tell(const std::string& change);

    void tell_of_resuming(const run_info& info) const;

    /// Right-aligned in so many columns.
    void add_fixed(double value, int places, std::size_t columns);

    /// Four places, or as many digits where it has run away.
    void add_loss(double value);

    /// What messages are of gradients: as many times less, or more.
    static std::string beside_gradient(const round_report& total);

    void add_bytes(std::int64_t count);

    void add_scaled(double value, double step, const std::array<const char*, 4>& units);

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
    std::int64_t rest_after_ = 0;   // the epoch under way was begun by an earlier process; or 0
    detail::taught_record taught_;  // in this call of fit
    int changes_told_ = 0;
    detail::measured_mean agreement_;  // with teachers, in this epoch
    std::string line_, drawn_;
};

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/logging/progress_bar.ipp"
#endif
