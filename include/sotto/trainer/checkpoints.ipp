#pragma once

#include "sotto/trainer/checkpoints.hpp"

#include <cstdio>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/text/print_line.hpp"

namespace sotto {

SOTTO_DECL void complain_of_checkpoint(const checkpoint_report& report) {
    detail::print_line(stderr, "checkpoint of step " + std::to_string(report.step) + ": " +
                                   report.failure + "; training goes on");
}

}  // namespace sotto
