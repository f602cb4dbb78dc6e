#pragma once

#include "sotto/report/report.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "sotto/checkpoint/detail/file_system.hpp"
#include "sotto/checkpoint/detail/posix_files.hpp"
#include "sotto/checkpoint/detail/whole_file.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/detail/files/absolute_path.hpp"
#include "sotto/core/detail/files/line_file.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/logging/detail/report_text.hpp"
#include "sotto/logging/detail/taught_summary.hpp"
#include "sotto/report/calibrated_advice.hpp"
#include "sotto/report/detail/charts/report_style.hpp"
#include "sotto/report/detail/sections/report_advice.hpp"
#include "sotto/report/detail/sections/report_churn.hpp"
#include "sotto/report/detail/sections/report_consensus.hpp"
#include "sotto/report/detail/sections/report_costs.hpp"
#include "sotto/report/detail/sections/report_curves.hpp"
#include "sotto/report/detail/sections/report_overlap.hpp"
#include "sotto/report/detail/sections/report_servers.hpp"
#include "sotto/report/detail/sections/report_summary.hpp"
#include "sotto/report/detail/sections/report_teachers.hpp"
#include "sotto/report/detail/sections/report_terms.hpp"
#include "sotto/report/detail/sections/report_timeline.hpp"

namespace sotto::reporting {

SOTTO_DECL std::string configuration(std::span<const run_log> runs) {
    std::vector<std::string> names;
    std::map<std::string, std::vector<std::string>, std::less<>> values;
    const auto set = [&](const std::string& name, std::size_t run, std::string value) {
        auto [row, is_new] = values.try_emplace(name, runs.size());
        if (is_new) names.push_back(name);
        row->second[run] = std::move(value);
    };
    for (std::size_t i = 0; i < runs.size(); ++i) {
        set("workers", i, std::to_string(runs[i].workers()));
        if (!runs[i].about.model.empty()) set("trains", i, runs[i].about.model);
        for (const auto& [name, value] : runs[i].about.options)
            if (!name.starts_with("tensor ")) set(name, i, value);
    }
    const auto table = [&](bool differing) {
        std::string rows;
        constexpr std::size_t rows_max = 400;
        std::size_t count = 0;
        for (const std::string& name : names) {
            const auto& row = values.find(name)->second;
            const bool differs =
                std::any_of(row.begin(), row.end(), [&](const auto& v) { return v != row[0]; });
            if ((differing && !differs) || ++count > rows_max) continue;
            rows += std::string("<tr") + (differs && !differing ? " class=\"differs\"" : "") +
                    "><th>" + detail::reporting::escaped(name, 200) + "</th>";
            for (const std::string& value : row)
                rows += "<td class=\"text\">" +
                        (value.empty() ? "–" : detail::reporting::escaped(value, 300)) + "</td>";
            rows += "</tr>";
        }
        if (rows.empty()) return rows;
        if (count > rows_max)
            rows += "<tr><th>and " + std::to_string(count - rows_max) + " more</th></tr>";
        std::string head = "<thead><tr><th>option</th>";
        for (std::size_t i = 0; i < runs.size(); ++i)
            head += "<th>" + detail::reporting::key(i) +
                    detail::reporting::escaped(runs[i].name, 40) + "</th>";
        return "<div class=\"scroll\"><table class=\"options\">" + head + "</tr></thead>" + rows +
               "</table></div>";
    };
    std::string out = "<h2>Configuration and seed</h2>";
    if (runs.size() > 1) {
        const std::string different = table(true);
        out += different.empty() ? "<p>All options of all runs are the same.</p>"
                                 : "<p class=\"soft\">Where the runs differ:</p>" + different;
        return out + "<details><summary>all options</summary>" + table(false) + "</details>";
    }
    return out + table(false);
}

SOTTO_DECL std::string diagnostics(std::span<const run_log> runs) {
    std::string out;
    for (const run_log& run : runs) {
        const auto add = [&](const std::string& text, bool bad) {
            out += "<li>" + std::string(bad ? "<span class=\"bad\">" : "<span>") +
                   detail::reporting::escaped(run.name, 60) + "</span>: " + text + "</li>";
        };
        constexpr std::size_t most = 50;
        for (std::size_t i = 0; i < (std::min)(run.diagnostics.size(), most); ++i)
            add((run.diagnostics[i].step > 0 ? "after step " +
                                                   detail::reporting::counted(static_cast<double>(
                                                       run.diagnostics[i].step)) +
                                                   ", "
                                             : std::string()) +
                    detail::reporting::escaped(run.diagnostics[i].text, 500),
                run.diagnostics[i].bad);
        if (run.diagnostics.size() > most)
            add("and " + std::to_string(run.diagnostics.size() - most) + " more", true);
        for (const std::string& text : troubles_in_the_end(run.taught.record))
            add(detail::reporting::escaped(text, 500), true);
        if (run.not_finite_from > 0)
            add("the loss was not a finite number from step " +
                    detail::reporting::counted(static_cast<double>(run.not_finite_from)) + " on",
                true);
        if (!run.ended) add("goes on, or was ended by force; this is how far it is known", false);
        if (run.stopped_early) add("was stopped before its time by a callback", false);
        if (const std::int64_t calls = run.fits - run.interruptions; calls > 1)
            add("took " + std::to_string(calls) + " calls of fit", false);
        if (!run.epochs.empty() && !run.epochs.back().complete)
            add("ended inside epoch " + std::to_string(run.epochs.back().epoch), false);
    }
    return out.empty() ? out : "<ul class=\"notes\">" + out + "</ul>";
}

SOTTO_DECL std::string page(std::span<const run_log> runs, const report_options& options) {
    // Earlier runs may have been killed and never end, so only the last one counts.
    const bool going_on = !runs.empty() && !runs.back().ended;
    std::string out =
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
        "content=\"width=device-width,initial-scale=1\"><meta name=\"color-scheme\" "
        "content=\"light "
        "dark\"><link rel=\"icon\" href=\"data:,\">";
    if (going_on && options.reload_seconds > 0)
        out += "<meta http-equiv=\"refresh\" content=\"" + std::to_string(options.reload_seconds) +
               "\">";
    out += "<title>" + detail::reporting::escaped(options.title, 200) + "</title><style>" +
           detail::reporting::style() + "</style></head><body><main><h1>" +
           detail::reporting::escaped(options.title, 200) + "</h1>";
    if (runs.empty())
        return out + "<p>There are no runs in this report.</p></main></body></html>\n";
    out += detail::reporting::told(runs) + detail::reporting::simulated_networks(runs) +
           detail::reporting::cards(runs) + diagnostics(runs);
    out += "<h2>What was learnt, and for how much</h2>" + detail::reporting::curves(runs) +
           detail::reporting::equal_accuracy(runs);
    out += detail::reporting::step_times(runs) + detail::reporting::overlap_section(runs);
    out += detail::reporting::timeline_section(runs) + detail::reporting::servers_section(runs) +
           detail::reporting::consensus_section(runs);
    out += detail::reporting::teachers_section(runs) + detail::reporting::churn_section(runs);
    out += "<h2>What went over the wire</h2><div class=\"pair\">" +
           detail::reporting::message_shares(runs) + detail::reporting::totals(runs) + "</div>" +
           detail::reporting::tensor_bytes(runs);
    if (options.advised)
        out += detail::reporting::advice_section(*options.advised,
                                                 options.link.has_value() || !options.calibrate,
                                                 "from compressors measured on this machine");
    else if (const auto measured =
                 detail::reporting::advice_from(runs, options.link.value_or(network_link{})))
        out += detail::reporting::advice_section(
            *measured, options.link.has_value(),
            "from what these runs measured" + detail::reporting::not_compared(runs, *measured));
    else
        out += detail::reporting::nothing_to_compare(runs, options.link);
    return out + configuration(runs) + "</main></body></html>\n";
}

}  // namespace sotto::reporting

namespace sotto {

SOTTO_DECL void write_report(std::span<const run_log> runs, const std::string& path,
                             const report_options& options) {
    (void)detail::required_path("write_report", path);
    if (options.link) check_link("write_report", *options.link);
    if (options.calibrate && !options.advised) {
        report_options filled = options;
        filled.advised = calibrated_advice(runs, options.link.value_or(network_link{}));
        filled.calibrate = filled.advised.has_value();
        return write_report(runs, path, filled);
    }
    const std::string text = reporting::page(runs, options);
    (void)detail::make_folder_of(path);  // on failure, creating the file reports the reason
    detail::checkpoint::posix_files files;
    detail::checkpoint::whole_file file(files, path, detail::checkpoint::survives::crash);
    file.write(std::as_bytes(std::span(text)));
    if (!file.finish())
        throw io_failure("write_report: '" + path + "' cannot be written: " + file.problem());
}

SOTTO_DECL void write_report(const run_log& run, const std::string& path,
                             const report_options& options) {
    write_report(std::span(&run, 1), path, options);
}

}  // namespace sotto
