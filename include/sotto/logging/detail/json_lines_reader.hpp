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

/// Turns the lines of a log into a run, one by one and without files. What a line says is taken
/// only if the whole line is as json_lines writes it; events of other names are left out, so that
/// logs of later versions can be read.
///   cost    memory: the line at hand, and the run
///   errors  line() throws malformed_log, naming the log, the line, what was expected and what
///           found; the run then stands as after the line before
class json_lines_reader : json_line_checks {
public:
    using json_line_checks::line_bytes_max, json_line_checks::lines, json_line_checks::tensors_max;

    /// Of a log of this name.
    explicit json_lines_reader(const std::string& name);

    /// The run so far.
    const run_log& log() const noexcept { return log_; }
    /// The run, which is then not here any more.
    run_log take() noexcept { return std::move(log_); }

    /// Takes the next line.
    void line(std::string_view text);

    /// The log ends inside a line: its program was ended while it wrote.
    void cut_line(std::size_t length);

private:
    void run(const json& line);

    void step(const json& line);

    void epoch(const json& line);

    /// Drawn as it is: so each time is refused that is before the one it follows.
    void round(const json& line);

    consensus_report consensus_of(const json& line);

    taught_report taught_of(const json& line);

    /// Of the teacher that comes next: they are in the order of their groups.
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
        std::int64_t bytes = 0, skipped = 0;  // so far, and models left out
        std::string problem{};                // of the last attempt
    } published_{}, next_published_{};        // since the run's line; with the line at hand
    std::array<std::vector<double>, detail::consensus_tensor_members.size()> by_tensor_;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/logging/detail/json_lines_reader.ipp"
#endif
