#include "sotto/logging/detail/json_lines_reader.hpp"
#include "sotto/logging/read_json_lines.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "fuzz/fuzz.hpp"
#include "fuzz/log_lines.hpp"

using sotto::fuzz::require;

// Any bytes, cut into lines, are either a run that is consistent, or refused at one of their lines.
// Whether such a run can be drawn is asked by report.cpp: it takes a hundred times as long.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    sotto::detail::json_lines_reader reader("input");
    sotto::fuzz::read_lines(reader, {reinterpret_cast<const char*>(data), size});
    const sotto::run_log& log = reader.log();
    require(log.points.size() <= sotto::run_log::points_max, "points are bounded");
    require(log.fits > 0 || (log.points.empty() && log.epochs.empty() && log.diagnostics.empty()),
            "nothing without a run");
    for (const sotto::detail::run_point& p : log.points) {
        require(p.first_step <= p.last_step, "points are steps in a row");
        require(p.losses >= 0 && p.losses <= p.last_step - p.first_step + 1 + log.steps,
                "losses are of steps");
        require(p.bytes_sent >= 0.0 && p.seconds >= 0.0, "what was paid is not negative");
    }
    for (const sotto::run_log::finished_epoch& e : log.epochs) {
        require(e.steps >= 0 && e.step >= 0, "epochs are of steps");
        require(!e.evaluated || !(e.evaluated->accuracy < 0.0 || e.evaluated->accuracy > 1.0),
                "accuracies are shares");
    }
    const sotto::detail::run_taught& taught = log.taught;
    require(taught.points().empty() || taught.points().size() == log.points.size(),
            "what is taught is of the run's points");
    for (const sotto::detail::taught_means& m : taught.points())
        require(m.told >= 0 && m.agreement.count <= m.told && m.weight(0) >= 0.0,
                "teachers are of steps");
    require(
        taught.record.taught() <= taught.record.lessons() && taught.record.lessons() <= log.steps,
        "lessons are of steps");
    int group = -1;
    for (const sotto::detail::teacher_record& t : taught.record.teachers()) {
        require(std::exchange(group, t.group) < t.group, "each group teaches once");
        require(t.heard + t.left_out_in_all().steps <= taught.record.lessons(),
                "a teacher is heard or left out");
        require(t.stretches.size() <= sotto::detail::teacher_record::stretches_max,
                "stretches are bounded");
        for (const sotto::detail::left_out_steps& steps : t.stretches)
            require(steps.first <= steps.last && steps.why != sotto::detail::left_out::no,
                    "stretches are steps in a row");
    }
    require(log.steps >= 0 && log.last_step >= 0 && log.steps_missing >= 0, "steps are counted up");
    require(std::isfinite(sotto::computing_seconds(log)), "seconds are finite");
    return 0;
}
