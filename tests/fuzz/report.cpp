#include "sotto/report/report.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "fuzz/fuzz.hpp"
#include "fuzz/log_lines.hpp"

using sotto::fuzz::require;

// Whatever run a log tells of can be drawn, alone and beside itself, and nothing of it is markup.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    sotto::detail::json_lines_reader reader("input");
    sotto::fuzz::read_lines(reader, {reinterpret_cast<const char*>(data), size});
    if (reader.log().fits == 0) return 0;
    const sotto::run_log runs[] = {reader.log(), reader.log()};
    const sotto::report_options options[] = {
        {}, {.link = sotto::network_link{.bytes_per_second = 1e-37, .latency_seconds = 1e38}}};
    const std::size_t choice = size % 2;
    const std::string page =
        sotto::reporting::page(std::span(runs).first(1 + choice), options[choice]);
    require(page.ends_with("</html>\n"), "every run can be drawn");
    require(page.find("<script") == page.npos, "nothing from outside is markup");
    return 0;
}
