#pragma once

#include "sotto/report/detail/sections/report_teachers.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/memory/finite.hpp"
#include "sotto/logging/detail/report_text.hpp"
#include "sotto/logging/detail/taught_summary.hpp"
#include "sotto/report/detail/charts/report_axis.hpp"
#include "sotto/report/detail/sections/report_curves.hpp"
#include "sotto/report/detail/sections/report_summary.hpp"

namespace sotto::detail::reporting {

SOTTO_DECL std::vector<taken> of_points(const run_log& run, measured_mean taught_means::*mean) {
    return of_points(run, [&](const run_point&, const taught_means& taught) {
        const measured_mean& found = taught.*mean;
        return found.count > 0 ? std::optional(found.value()) : std::nullopt;
    });
}

SOTTO_DECL std::vector<taken> means_of(const std::vector<taken>& values) {
    const std::size_t stretches = std::min<std::size_t>(values.size() / 10, 50);
    if (stretches < 3) return values;
    std::vector<taken> means;
    for (std::size_t s = 0; s < stretches; ++s) {
        const std::size_t first = s * values.size() / stretches,
                          last = (s + 1) * values.size() / stretches;
        taken mean = values[last - 1];
        mean.each = 0.0;
        for (std::size_t i = first; i < last; ++i)
            mean.each += values[i].each / static_cast<double>(last - first);
        means.push_back(mean);
    }
    return means;
}

SOTTO_DECL std::optional<dot> draw_named(chart& c, const std::vector<taken>& values,
                                         std::size_t colour, const std::string& name) {
    drawn_end end;
    draw(
        c, values, colour, chart::weight::normal,
        [](const taken& t) { return std::optional(t.each); }, against::steps, end);
    if (end.last && !name.empty()) c.name(*end.last, name, colour);
    return end.last;
}

SOTTO_DECL std::optional<dot> draw_means(chart& c, const std::vector<taken>& values,
                                         std::size_t colour, const std::string& name) {
    const std::vector<taken> means = means_of(values);
    drawn_end ignored;
    if (means.size() < values.size())
        draw(
            c, values, colour, chart::weight::faint,
            [](const taken& t) { return std::optional(t.each); }, against::steps, ignored);
    return draw_named(c, means, colour, name);
}

SOTTO_DECL void add_shown(std::vector<double>& to, const std::vector<taken>& values) {
    std::vector<double> sorted;
    for (const taken& t : values)
        if (is_finite(t.each)) sorted.push_back(t.each);
    std::sort(sorted.begin(), sorted.end());
    const auto out = static_cast<std::ptrdiff_t>(sorted.size() / 100);
    to.insert(to.end(), sorted.begin() + out, sorted.end() - out);
}

SOTTO_DECL std::string taught_losses(const run_log& run) {
    const auto by_labels = of_points(run, [](const run_point& p, const taught_means&) {
        return p.losses > 0 ? std::optional(p.loss()) : std::nullopt;
    });
    const auto by_teachers = of_points(run, &taught_means::distillation_loss);
    if (by_teachers.empty()) return "";
    std::vector<double> all;
    add_shown(all, by_labels);
    add_shown(all, by_teachers);
    const axis y = axis_of(all, false);
    chart c("Loss by labels, and by what teachers say", axis_along(against::steps, {&run, 1}),
            y.logarithmic ? "steps (losses logarithmic)" : "steps", y);
    std::string says;
    const auto add = [&](const auto& values, std::size_t colour, const char* name) {
        if (const auto end = draw_means(c, values, colour, name))
            says += "By " + std::string(name) + " it ends at " + digits(end->y) + ". ";
    };
    add(by_labels, 0, "labels");
    add(by_teachers, 1, "teachers");
    return c.svg(says);
}

SOTTO_DECL std::string agreement_chart(const run_log& run) {
    const auto values = of_points(run, &taught_means::agreement);
    if (values.empty()) return "";
    std::vector<double> shown;
    add_shown(shown, values);
    chart c("Labels for which teachers say the same", axis_along(against::steps, {&run, 1}),
            "steps", axis_of(shown, true));
    const auto end = draw_means(c, values, 0, "");
    return c.svg(end ? "It ends at " + percent(end->y, 1) + "." : "");
}

SOTTO_DECL std::string age_chart(const run_log& run) {
    const auto values = of_points(run, &taught_means::age);
    if (values.empty()) return "";
    double low = 0.0, high = 0.0;
    for (const taken& t : values) low = (std::min)(low, t.each), high = (std::max)(high, t.each);
    chart c("Steps since the oldest model that was heard", axis_along(against::steps, {&run, 1}),
            "steps", low < 0.0 ? linear_axis(low, high, counted, 1.0) : counting_axis(high));
    draw_named(c, values, 0, "");
    return c.svg("At most " + counted(high) + ".");
}

SOTTO_DECL std::string group_of(const teacher_record& teacher) {
    return "group " + std::to_string(teacher.group);
}

SOTTO_DECL std::string weights_chart(const run_log& run) {
    constexpr std::size_t reasons_max = 4;  // most reasons in the text; tooltips have all
    const taught_record& record = run.taught.record;
    if (record.lessons() == 0 || record.teachers().empty()) return "";
    double most = 0.0;
    for (const taught_means& m : run.taught.points())
        for (std::size_t i = 0; i < m.weights.size(); ++i) most = (std::max)(most, m.weight(i));
    chart c("What each teacher weighs beside the labels", axis_along(against::steps, {&run, 1}),
            "steps", axis_from_zero(1.1 * most));
    std::string says;
    std::size_t written = 0;
    for (const teacher_record& teacher : record.teachers()) {
        const std::size_t place = teacher.place;
        if (place >= taught_means::places_max) continue;
        const auto values = of_points(run, [&](const run_point&, const taught_means& taught) {
            return taught.told > 0 ? std::optional(taught.weight(place)) : std::nullopt;
        });
        const auto end = draw_named(c, values, place, group_of(teacher));
        if (end) says += group_of(teacher) + " ends at " + digits(end->y) + ". ";
        for (const left_out_steps& steps : teacher.stretches) {
            const dot at{static_cast<double>(steps.first), 0.0};
            const char* why = name_of(steps.why);
            const std::string told =
                group_of(teacher) + " left out " + told_steps(steps, record.last()) + ": " + why;
            c.mark(at, place, told);
            if (++written <= reasons_max) c.name(at, why, place);
            says += told + ". ";
        }
    }
    return c.svg(says);
}

SOTTO_DECL std::string told_listening(const run_log& run) {
    if (run.is_simulated() || !(run.total.listening > 0.0)) return "";
    const run_costs* costs = &run.total;
    std::int64_t steps = run.steps;
    std::string where = "A step";
    for (const run_log::finished_epoch& e : run.epochs) {
        if (!e.complete || e.steps == 0 || !(e.costs.listening > 0.0)) continue;
        costs = &e.costs;
        steps = e.steps;
        where = "In epoch " + std::to_string(e.epoch) + " a step";
    }
    const double own = costs->compute - costs->listening;
    if (!(own > 0.0)) return "";
    const auto each = [&](double sum) {
        return seconds(sum / static_cast<double>(std::max<std::int64_t>(steps, 1)));
    };
    return "<p>" + where + " computed for " + each(costs->compute) +
           ", of which teachers’ passes forward took <b>" + each(costs->listening) +
           "</b> and what is the student’s own " + each(own) +
           ": with teachers computing takes <b>" + digits(costs->compute / own) +
           "\u202f×</b> as long as without.</p>";
}

SOTTO_DECL std::string teachers_table(const run_log& run) {
    constexpr std::size_t rows_max = 100;
    const taught_record& record = run.taught.record;
    const auto teachers = record.teachers();
    if (teachers.empty()) return "";
    const auto step = [](std::int64_t number, std::int64_t none) {
        return number == none ? "–" : counted(static_cast<double>(number));
    };
    std::string out =
        "<div class=\"scroll\"><table><caption>Of the " +
        counted(static_cast<double>(record.lessons())) +
        " steps in which a teacher could be heard" +
        (record.began() > 1 ? ", from step " + counted(static_cast<double>(record.began())) + " on"
                            : std::string()) +
        ". Its label loss is on this worker’s own examples</caption><thead><tr><th>teacher</th>"
        "<th>newest model, of step</th><th>first heard, in step</th><th>heard, of these steps</th>"
        "<th>steps old, mean</th><th>label loss, lately</th><th class=\"text\">left "
        "out</th></tr></thead>";
    for (std::size_t i = 0; i < (std::min)(teachers.size(), rows_max); ++i) {
        const teacher_record& t = teachers[i];
        std::string out_of;
        for (std::size_t r = 0; r < t.reasons.size(); ++r)
            if (t.reasons[r].times > 0)
                out_of += (out_of.empty() ? "" : "; ") +
                          std::string(name_of(reasons_to_leave_out[r])) + " " +
                          told_times(t.reasons[r].times) + ", " +
                          counted(static_cast<double>(t.reasons[r].steps)) +
                          (t.reasons[r].steps == 1 ? " step" : " steps");
        if (!t.details.empty())
            out_of += "<br/><span class=\"soft\">" + escaped(t.details, 300) + "</span>";
        out +=
            "<tr><th>" + group_of(t) + "</th>" + element("td", step(t.newest, -1)) +
            element("td", step(t.first_heard, 0)) +
            element("td", record.lessons() > 0 ? percent(static_cast<double>(t.heard) /
                                                             static_cast<double>(record.lessons()),
                                                         1)
                                               : "–") +
            element("td", t.heard > 0 ? digits(t.age()) : "–") +
            element("td", digits(t.label_loss)) + "<td class=\"text\">" +
            (out_of.empty() ? "never" : out_of) + "</td></tr>";
    }
    if (teachers.size() > rows_max)
        out += "<tr><th>and " + std::to_string(teachers.size() - rows_max) + " more</th></tr>";
    return out + "</table></div>";
}

SOTTO_DECL std::string teachers_of(const run_log& run, std::size_t colour) {
    std::string out = "<p>" + key(colour) + "<b>" + escaped(run.name, 80) + "</b>";
    if (!run.about.model.empty()) out += ", which trains " + escaped(run.about.model, 60);
    out += ": " + escaped(summary_of(run.taught.record)) + "</p>";
    const std::string charts =
        taught_losses(run) + agreement_chart(run) + age_chart(run) + weights_chart(run);
    if (!charts.empty()) out += "<div class=\"charts\">" + charts + "</div>";
    const std::size_t teachers = run.taught.record.teachers().size();
    if (!charts.empty() && teachers > taught_means::places_max)
        out += "<p class=\"soft\">The weights of " +
               std::to_string(teachers - taught_means::places_max) +
               " more teachers are not drawn.</p>";
    if (const std::string own = summary_of(run.taught.record.published()); !own.empty())
        out += "<p>" + escaped(own, 600) + "</p>";
    return out + told_listening(run) + teachers_table(run);
}

SOTTO_DECL std::string teachers_section(std::span<const run_log> runs) {
    constexpr std::size_t runs_max = 12;
    std::string out;
    std::size_t drawn_runs = 0;
    for (std::size_t i = 0; i < runs.size(); ++i)
        if (runs[i].taught.record.is_told() && ++drawn_runs <= runs_max)
            out += teachers_of(runs[i], i);
    if (out.empty()) return out;
    if (drawn_runs > runs_max)
        out += "<p class=\"soft\">and " + std::to_string(drawn_runs - runs_max) + " more runs</p>";
    return "<h2>What teachers taught</h2><p class=\"soft\">Groups of workers each train a "
           "model of "
           "their own, and learn to say what the others’ models said of the same examples when "
           "they were last seen, some steps ago. The loss by teachers is how far a group’s model "
           "is from that, before its weight; faint is each step, and the line means of ten or "
           "more. A teacher that is missing, broken, too old, too far ahead or worse is left out "
           "until there is a better one; nobody waits for it.</p>" +
           out;
}

}  // namespace sotto::detail::reporting
