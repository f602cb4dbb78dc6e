#pragma once

#include "sotto/trainer/checkpoints.hpp"

#include <cstdio>
#include <utility>

#include "sotto/checkpoint/detail/job_name.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/detail/files/absolute_path.hpp"
#include "sotto/core/detail/text/print_line.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/require_option.hpp"

namespace sotto {

SOTTO_DECL void complain_of_checkpoint(const checkpoint_report& report) {
    detail::print_line(stderr, "checkpoint of step " + std::to_string(report.step) + ": " +
                                   report.failure + "; training goes on");
}

SOTTO_DECL checkpoints::checkpoints(const std::string& folder, options chosen,
                                    detail::checkpoint::disk files)
    : folder_(detail::absolute_path(folder)),
      options_(std::move(chosen)),
      files_(std::move(files)) {
    check("every_steps", options_.every_steps.value_or(1));
    check("every_epochs", options_.every_epochs.value_or(1));
    check("keep", options_.keep);
    detail::checkpoint::require_job_name("checkpoints", options_.job);
    if (folder_.empty()) throw invalid_option("checkpoints: the folder has no name");
}

SOTTO_DECL bool checkpoints::due(std::int64_t step,
                                 std::optional<std::int64_t> epoch) const noexcept {
    if (options_.every_steps && step % *options_.every_steps == 0) return true;
    if (!epoch) return false;
    if (options_.every_epochs) return *epoch % *options_.every_epochs == 0;
    return !options_.every_steps;
}

SOTTO_DECL void checkpoints::check(const char* name, std::int64_t value) {
    require_option("checkpoints", name, value, detail::allowed::at_least(1));
}

}  // namespace sotto
