#pragma once

#include "sotto/trainer/resume_report.hpp"

#include <cstdio>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/text/print_line.hpp"

namespace sotto {

SOTTO_DECL void complain_of_damage(const resume_report& report) {
    detail::print_lines(stderr, report.refused);
    detail::print_line(stderr, "resumed from '" + report.file + "' instead, after step " +
                                   std::to_string(report.step));
}

}  // namespace sotto
