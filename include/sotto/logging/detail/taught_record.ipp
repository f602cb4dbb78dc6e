#pragma once

#include "sotto/logging/detail/taught_record.hpp"

#include <algorithm>

#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL left_out_count teacher_record::left_out_in_all() const noexcept {
    left_out_count sum;
    for (const left_out_count& r : reasons) sum.times += r.times, sum.steps += r.steps;
    return sum;
}

SOTTO_DECL bool taught_record::tells(const taught_report& round) noexcept {
    return round.teachers > 0 || !round.standings.empty() || !round.problem.empty();
}

SOTTO_DECL void taught_record::add(std::int64_t step, const taught_report& round,
                                   std::int64_t times) {
    const std::int64_t first = step - times + 1;
    published_.add(first, round);
    if (!tells(round)) return;
    is_told_ = true;
    const bool counts = is_lesson(round);
    if (counts) {
        if (lessons_ == 0) began_ = first;
        lessons_ += times;
        if (round.teachers > 0) taught_ += times;
        last_ = step;
    }
    for (std::size_t i = 0; i < round.standings.size(); ++i) {
        const teacher_status& standing = round.standings[i];
        teacher_record& teacher = record_of(standing.group, i);
        if (standing.step >= 0) teacher.newest = standing.step;
        if (is_finite(standing.label_loss)) teacher.label_loss = standing.label_loss;
        if (!standing.details.empty() && standing.details != teacher.details)
            teacher.details = standing.details;
        if (counts) count(teacher, standing, first, step);
    }
}

SOTTO_DECL bool taught_record::is_lesson(const taught_report& round) const noexcept {
    if (round.teachers > 0) return true;
    bool is_there = lessons_ > 0;
    for (const teacher_status& standing : round.standings) {
        if (standing.why == left_out::no) return false;  // usable, but without weight
        is_there |= standing.why != left_out::absent;
    }
    return is_there;
}

SOTTO_DECL teacher_record& taught_record::record_of(int group, std::size_t likely) {
    if (likely < teachers_.size() && teachers_[likely].group == group) return teachers_[likely];
    const auto at =
        std::lower_bound(teachers_.begin(), teachers_.end(), group,
                         [](const teacher_record& t, int other) { return t.group < other; });
    if (at != teachers_.end() && at->group == group) return *at;
    return *teachers_.insert(at, {.group = group, .place = teachers_.size()});
}

SOTTO_DECL void taught_record::count(teacher_record& teacher, const teacher_status& standing,
                                     std::int64_t first, std::int64_t step) {
    const std::int64_t times = step - first + 1;
    if (standing.why == left_out::not_its_turn) return;
    const bool is_new = teacher.stands != standing.why;
    if (is_new) {
        teacher.stands = standing.why;
        teacher.stands_since = first;
        ++teacher.changes;
    }
    if (standing.why == left_out::no) {
        if (teacher.heard == 0) teacher.first_heard = first;
        teacher.heard += times;
        teacher.ages += static_cast<double>(times) * static_cast<double>(step - 1 - standing.step);
        return;
    }
    const auto which = std::ranges::find(reasons_to_leave_out, standing.why);
    left_out_count& reason =
        teacher.reasons[static_cast<std::size_t>(which - reasons_to_leave_out.begin())];
    reason.steps += times;
    if (is_new) ++reason.times;
    auto& stretches = teacher.stretches;
    if (!is_new && !stretches.empty() && stretches.back().first == teacher.stands_since)
        stretches.back().last = step;
    else if (is_new && stretches.size() < teacher_record::stretches_max)
        stretches.push_back({standing.why, first, step});
}

}  // namespace sotto::detail
