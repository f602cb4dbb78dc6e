#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sotto/logging/detail/consensus_lines.hpp"
#include "sotto/logging/detail/json_line_checks.hpp"
#include "sotto/logging/run_log.hpp"
#include "sotto/strategies/consensus_report.hpp"
#include "sotto/topologies/detail/mixing_graph.hpp"

namespace sotto::detail {

/// Converts the lines of a log into a run, one by one and without files. A line counts only if all
/// of it has the format of json_lines. Unknown events are skipped, so that logs of later versions
/// are readable.
///   cost    memory: the current line, and the run
///   errors  line() throws malformed_log, naming the log, the line, what was expected and what was
///           found; the run is then the one up to the line before
class json_lines_reader : json_line_checks {
public:
    using json_line_checks::line_bytes_max, json_line_checks::lines, json_line_checks::tensors_max;

    /// For the log of this name.
    explicit json_lines_reader(const std::string& name);

    /// Returns the run so far.
    const run_log& log() const noexcept { return log_; }
    /// Returns the run and leaves this reader without one.
    run_log take() noexcept { return std::move(log_); }

    /// Reads the next line.
    void line(std::string_view text);

    /// Records that the log ends inside a line: its program ended during a write.
    void cut_line(std::size_t length);

private:
    void run(const json& line);

    void step(const json& line);

    void epoch(const json& line);

    /// The report draws these times, so each must be at or after the one it follows.
    void round(const json& line);

    consensus_report consensus_of(const json& line);

    taught_report taught_of(const json& line);

    /// Reads the next teacher: they are ordered by group.
    teacher_status standing_of(const json& each);

    topologies::mixing_graph graph_of(const json& line);

    server_memory memory_of_server(const json& line);

    void server(const json& line);

    server_saves saves_of(const json& fields);

    void checkpoint(const json& line);

    void churned(const json& line);

    void end(const json& line);

    void skipped(const json& line);

    std::optional<evaluation> evaluated(const json& line);

    run_costs costs(const json& line);

    double memory_of(const json& line);

    double seconds_since_start(const json& line);

    run_log log_;
    std::vector<std::int64_t> tensor_bytes_;
    std::vector<teacher_status> standings_;
    struct {
        std::int64_t bytes = 0, skipped = 0;  // totals; models skipped
        std::string problem{};                // problem of the last attempt
    } published_{}, next_published_{};        // since the run line; with the current line
    std::array<std::vector<double>, detail::consensus_tensor_members.size()> by_tensor_;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/logging/detail/json_lines_reader.ipp"
#endif
