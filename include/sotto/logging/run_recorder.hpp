#pragma once

#include <string>
#include <utility>

#include "sotto/logging/detail/recent_rounds.hpp"
#include "sotto/logging/run_log.hpp"

namespace sotto {

/// Keeps a run as data while it goes on: what read_json_lines would read from the same run's log.
/// Every rank records its own. Given to `fit` again, it goes on.
///   cost    on_step allocates nothing, but where teachers come or go; see run_log
class run_recorder {
public:
    /// Of a run of this name.
    explicit run_recorder(std::string name = "this run") { log_.name = std::move(name); }

    /// Goes on with what an earlier process did of the run.
    run_recorder(std::string name, run_log earlier);

    /// What is known of the run so far.
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
