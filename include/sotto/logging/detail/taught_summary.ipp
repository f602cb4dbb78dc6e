#pragma once

#include "sotto/logging/detail/taught_summary.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string_view>

#include "sotto/core/config.hpp"
#include "sotto/logging/detail/report_text.hpp"
#include "sotto/strategies/detail/codistillation/teacher_status.hpp"

namespace sotto::detail {

SOTTO_DECL std::string percent_of(std::int64_t part, std::int64_t whole) {
    const double share = 100.0 * static_cast<double>(part) / static_cast<double>(whole);
    if (share < 0.95 && part > 0) return reporting::fixed((std::max)(share, 0.1), 1) + " %";
    if (share > 99.0 && part < whole) return reporting::fixed((std::min)(share, 99.9), 1) + " %";
    return reporting::fixed(share, 0) + " %";
}

SOTTO_DECL std::string part_of_steps(std::int64_t part, std::int64_t whole) {
    const std::string steps = std::to_string(whole) + (whole == 1 ? " step" : " steps");
    return part >= whole ? "all " + steps : percent_of(part, whole) + " of the " + steps;
}

SOTTO_DECL std::string told_age(double age) {
    const double tenths = std::round(10.0 * std::abs(age)) / 10.0;
    const int places = tenths < 100.0 && tenths != std::round(tenths) ? 1 : 0;
    return reporting::fixed(tenths, places) + (tenths == 1.0 ? " step" : " steps") +
           (age < 0.0 ? " ahead" : " old");
}

SOTTO_DECL std::string told_steps(const left_out_steps& steps, std::int64_t last) {
    if (steps.last >= last && steps.first < steps.last)
        return "from step " + std::to_string(steps.first) + " on";
    if (steps.first == steps.last) return "at step " + std::to_string(steps.first);
    return "at steps " + std::to_string(steps.first) + " to " + std::to_string(steps.last);
}

SOTTO_DECL std::string told_times(std::int64_t count) {
    return count == 1 ? std::string("once") : std::to_string(count) + " times";
}

SOTTO_DECL std::string told_reasons(const teacher_record& teacher) {
    const std::int64_t all = teacher.left_out_in_all().times;
    std::string out;
    for (std::size_t i = 0; i < reasons_to_leave_out.size(); ++i) {
        const left_out_count& reason = teacher.reasons[i];
        if (reason.times == 0) continue;
        out += (out.empty() ? "" : ", ") + std::string(name_of(reasons_to_leave_out[i]));
        if (reason.times < all) out += " " + told_times(reason.times);
    }
    return out;
}

SOTTO_DECL std::string summary_of(const teacher_record& teacher, const taught_record& of,
                                  bool is_first) {
    const std::string group = "Group " + std::to_string(teacher.group);
    const std::int64_t all = of.lessons();
    const left_out_count out = teacher.left_out_in_all();
    const auto part = [&](std::int64_t steps) {
        if (is_first)
            return part_of_steps(steps, all) +
                   (of.began() > 1 ? " since step " + std::to_string(of.began()) : std::string());
        return steps >= all ? std::string("all of them") : percent_of(steps, all) + " of them";
    };
    if (teacher.heard == 0)
        return group + " was never heard" + (is_first ? " in " + part(all) : std::string()) +
               (out.times > 0 ? ": " + told_reasons(teacher) : std::string());
    std::string text = group + "'s models were heard in " + part(teacher.heard) + ", on average " +
                       told_age(teacher.age());
    if (out.times == 1 && !teacher.stretches.empty())
        text += ", and left out " + told_steps(teacher.stretches.front(), of.last()) + ": " +
                told_reasons(teacher);
    else if (out.times > 0)
        text += ", and left out " + told_times(out.times) + ", for " + std::to_string(out.steps) +
                " steps: " + told_reasons(teacher);
    return text;
}

SOTTO_DECL std::string summary_of(const taught_record& taught) {
    constexpr std::size_t shown_max = 4;
    if (!taught.is_told()) return "";
    const auto teachers = taught.teachers();
    if (taught.lessons() == 0) {
        const bool was_there = std::any_of(teachers.begin(), teachers.end(),
                                           [](const teacher_record& t) { return t.newest >= 0; });
        return was_there ? "No other model was heard: what they say had no weight yet."
                         : "No other model was heard: there was none yet.";
    }
    std::string out;
    for (std::size_t i = 0; i < (std::min)(teachers.size(), shown_max); ++i) {
        const std::string one = summary_of(teachers[i], taught, i == 0);
        out += (out.empty() ? "" : " ") + one + ".";
    }
    if (teachers.size() > shown_max)
        out += " There were " + std::to_string(teachers.size() - shown_max) + " more.";
    if (teachers.empty()) out = "Other models were heard.";
    return out;
}

SOTTO_DECL std::string told_change(const teacher_record& teacher) {
    const std::string since = " from step " + std::to_string(teacher.stands_since) + " on";
    const std::string group = "group " + std::to_string(teacher.group);
    if (!teacher.stands) return group + " is not known";
    if (*teacher.stands == left_out::no)
        return group +
               (teacher.first_heard == teacher.stands_since ? " is heard" : " is heard again") +
               since + ", by its model of step " + std::to_string(teacher.newest);
    std::string out = group + " is left out" + since + ": " + name_of(*teacher.stands);
    const bool has_details = *teacher.stands == left_out::unreadable ||
                             *teacher.stands == left_out::other_architecture ||
                             *teacher.stands == left_out::other_deal;
    if (has_details && !teacher.details.empty()) out += " (" + teacher.details + ")";
    return out;
}

SOTTO_DECL std::string told_change(const published_record& published) {
    const std::string since = " from step " + std::to_string(published.since) + " on";
    if (published.problem.empty()) return "models are published again" + since;
    return "no model is published" + since + ": " + published.problem;
}

SOTTO_DECL std::string told_bytes(double count) {
    constexpr std::string_view narrow = "\u202f";
    std::string text = reporting::bytes(count);
    if (const std::size_t at = text.find(narrow); at != text.npos)
        text.replace(at, narrow.size(), " ");
    return text;
}

SOTTO_DECL std::string summary_of(const published_record& published) {
    std::string out;
    const auto add = [&](const std::string& sentence) {
        out += (out.empty() ? "" : " ") + sentence + ".";
    };
    if (published.bytes > 0.0)
        add("It published " + told_bytes(published.bytes) + " of models of its own");
    if (published.skipped > 0)
        add((published.skipped == 1 ? std::string("One was")
                                    : std::to_string(published.skipped) + " were") +
            " left out, for the one before was still under way");
    if (published.problems > 0)
        add(published.problem.empty()
                ? "None was published for a time, until step " + std::to_string(published.since) +
                      ": " + published.last
                : "None is published from step " + std::to_string(published.since) +
                      " on: " + published.problem);
    return out;
}

SOTTO_DECL std::vector<std::string> troubles_in_the_end(const taught_record& taught) {
    constexpr std::size_t lines_max = 8;
    std::vector<std::string> lines;
    for (const teacher_record& t : taught.teachers())
        if (t.stands && *t.stands != left_out::no && *t.stands != left_out::absent &&
            lines.size() < lines_max)
            lines.push_back(told_change(t));
    if (!taught.published().problem.empty()) lines.push_back(told_change(taught.published()));
    return lines;
}

}  // namespace sotto::detail
