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

/// Shows progress on rank 0; other ranks write nothing. On a terminal the current epoch has one
/// line, redrawn at most ten times a second and at most as wide as the terminal. Each epoch report
/// adds a line. If the output is not a terminal, only the lines of epochs are written. A resumed
/// run first shows the step after which it continues.
///
/// It also shows:
///   servers  on a rank that serves the memory that the server takes, and whether a failed server
///           loses its state; at the end staleness of gradients, saved checkpoints and lost ranks.
///           If rank 0 only serves, the first rank that trains shows its progress
///   gossip  at the end the number of steps in which the controller missed its target distance
///   teachers  when a teacher becomes used or left out, and when publishing this rank's model fails
///           or works again, each for the first of many changes; at the end a summary of each
///           teacher
///   remarks  that times are simulated, losses are one worker's own, or the job trains several
///           models
class progress_bar {
public:
    /// Writes to this file, which stays open.
    explicit progress_bar(std::FILE* out = stderr) noexcept : out_(out) {}

    void on_begin(const run_info& info);

    void on_step(const step_report& report);

    void on_epoch(const epoch_report& report);

    void on_end(const fit_report& report);

    /// Returns why the output is incomplete; empty if it is complete.
    std::string incomplete() const;

private:
    static constexpr int changes_max = 20;

    void print(std::string_view line) const noexcept { detail::print_line(out_, line); }

    /// Uses the terminal's current width minus its last column: after that column a terminal
    /// continues in the next row, and the redrawn line would begin there.
    void redraw(double done);

    void add_teachers(const step_report& report);

    void tell(const std::string& change);

    void tell_of_resuming(const run_info& info) const;

    /// Right-aligned in `columns` columns.
    void add_fixed(double value, int places, std::size_t columns);

    /// Four decimal places, or four digits if the loss diverged.
    void add_loss(double value);

    /// Returns the size of messages relative to gradients, as a ratio below or above 1.
    static std::string beside_gradient(const round_report& total);

    void add_bytes(std::int64_t count);

    void add_scaled(double value, double step, const std::array<const char*, 4>& units);

    std::FILE* out_;
    bool shown_ = false;
    bool live_ = false;
    const char* simulated_ = "";  // text after each time
    int workers_ = 1;
    bool bounded_ = false;  // true: the number of epochs is bounded
    std::int64_t epochs_ = 0;
    std::int64_t before_ = 0;  // steps of earlier calls of fit
    double steps_ = 0.0;       // expected steps of this call
    double next_ = 0.0;
    std::int64_t aimed_ = 0, missed_ = 0;  // steps with a target for mixing; number that missed it
    std::int64_t rest_after_ = 0;          // steps before a resumed partial epoch; or 0
    detail::taught_record taught_;         // teachers in this call of fit
    int changes_told_ = 0;
    detail::measured_mean agreement_;  // agreement with teachers in this epoch
    std::string line_, drawn_;
};

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/logging/progress_bar.ipp"
#endif
