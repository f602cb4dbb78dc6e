#pragma once

#include <string>
#include <utility>

#include "sotto/logging/detail/recent_rounds.hpp"
#include "sotto/logging/run_log.hpp"

namespace sotto {

/// Records a run as data: the result equals what read_json_lines returns for the run's log. Every
/// rank records its own run. If passed to `fit` again, it continues.
///   cost    on_step allocates nothing, except when teachers join or leave; see run_log
class run_recorder {
public:
    /// `name` is the run's name.
    explicit run_recorder(std::string name = "this run") { log_.name = std::move(name); }

    /// Continues the run of an earlier process.
    run_recorder(std::string name, run_log earlier);

    /// Returns the run so far.
    const run_log& log() const noexcept { return log_; }

    void on_begin(const run_info& info);

    void on_step(const step_report& report);

    void on_epoch(const epoch_report& report);

    void on_checkpoint(const checkpoint_report& report);

    void on_end(const fit_report& report);

private:
    run_log log_;
    detail::recent_rounds recent_;
};

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/logging/run_recorder.ipp"
#endif
