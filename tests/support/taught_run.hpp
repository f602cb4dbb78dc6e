#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "sotto/strategies/round_report.hpp"
#include "sotto/strategies/detail/codistillation/teacher_status.hpp"
#include "sotto/logging/run_log.hpp"

namespace sotto::testing {

/// What two teachers, groups 1 and 2, taught in a step of group 0: from step 51 on, by models of
/// every 50th step. At steps 401 to 450 that of group 2 is not finite.
class two_teachers {
public:
    detail::taught_report at(std::int64_t step) {
        const std::int64_t newest = (step - 1) / 50 * 50;
        int heard = 0;
        for (detail::teacher_status& teacher : standings_) {
            teacher.why = newest == 0                           ? detail::left_out::absent
                          : teacher.group == 2 && newest == 400 ? detail::left_out::not_finite
                                                                : detail::left_out::no;
            teacher.step = newest == 0 ? -1 : newest;
            if (teacher.why != detail::left_out::no) continue;
            ++heard;
            teacher.label_loss = 0.5 * teacher.group + 1.0 / static_cast<double>(step);
        }
        detail::taught_report round{.teachers = heard, .standings = standings_};
        if (heard == 0) return round;
        const auto at = static_cast<double>(step);
        round.age = step - 1 - newest;
        round.weight = 0.5;
        round.distillation_loss = 0.25 + 10.0 / at;
        round.agreement = 0.95 - 20.0 / (at + 40.0);
        return round;
    }

private:
    std::array<detail::teacher_status, 2> standings_{detail::teacher_status{.group = 1},
                                                     detail::teacher_status{.group = 2}};
};

/// A run of two ranks that these teach. A step computes for 3 ms; with teachers for 2 more.
inline run_log taught_run(std::int64_t steps, std::string name = "taught") {
    run_log log;
    log.name = std::move(name);
    log.begin({.world_size = 6,
               .tensors = {{.name = "w", .shape = {100, 10}, .size = 1000}},
               .model = "group-0",
               .model_ranks = 2});
    two_teachers teachers;
    for (std::int64_t s = 1; s <= steps; ++s) {
        const detail::taught_report round = teachers.at(s);
        const double listening = round.teachers > 0 ? 0.002 : 0.0;
        log.add(run_log::step{.number = s,
                              .epoch = 0.01 * static_cast<double>(s - 1),
                              .seconds = 0.01 * static_cast<double>(s),
                              .loss = 0.5 + 20.0 / (10.0 + static_cast<double>(s)) +
                                      0.02 * static_cast<double>(s * 37 % 11),
                              .costs = {.examples = 32,
                                        .compute = 0.003 + listening,
                                        .wait = 0.001,
                                        .listening = listening,
                                        .dense_bytes = 4000,
                                        .message_bytes = 4000,
                                        .bytes_sent = 4000,
                                        .bytes_received = 4000},
                              .taught = round});
    }
    log.end(0.01 * static_cast<double>(steps), false);
    return log;
}

}  // namespace sotto::testing
