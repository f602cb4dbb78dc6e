#include "sotto/trainer/read_json_lines.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "fuzz/fuzz.hpp"
#include "sotto/trainer/report.hpp"

using sotto::fuzz::require;

// Any bytes, cut into lines, are either a run that is consistent and can be drawn, or refused at
// one of their lines.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::string_view rest(reinterpret_cast<const char*>(data), size);
    sotto::json_lines_reader reader("input");
    std::int64_t lines = 0;
    try {
        for (std::size_t end; (end = rest.find('\n')) != rest.npos; rest.remove_prefix(end + 1)) {
            ++lines;
            reader.line(rest.substr(0, end));
        }
    } catch (const sotto::malformed_log& e) {
        require(e.line() == lines, "the refused line is the one at hand");
    }
    const sotto::run_log& log = reader.log();
    require(reader.lines() == lines, "every line is counted");
    require(log.points.size() <= sotto::run_log::points_max, "points are bounded");
    require(log.fits > 0 || log.points.empty(), "nothing without a run");
    for (const sotto::run_point& p : log.points) {
        require(p.first_step <= p.last_step, "points are steps in a row");
        require(p.losses >= 0 && p.losses <= p.last_step - p.first_step + 1 + log.steps,
                "losses are of steps");
        require(p.bytes_sent >= 0.0 && p.seconds >= 0.0, "what was paid is not negative");
    }
    require(log.steps >= 0 && log.last_step >= 0, "steps are counted up");
    // Drawing takes a hundred times as long as reading: for a share of the inputs.
    if (log.fits > 0 && size % 32 == 0) {
        const std::string page = sotto::reporting::page(std::span(&log, 1), {});
        require(page.ends_with("</html>\n"), "every run can be drawn");
        require(page.find("<script") == page.npos, "nothing from outside is markup");
    }
    return 0;
}
