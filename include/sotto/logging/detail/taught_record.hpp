#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sotto/core/detail/memory/finite.hpp"
#include "sotto/strategies/round_report.hpp"
#include "sotto/strategies/detail/codistillation/teacher_standing.hpp"
#include "sotto/logging/detail/published_record.hpp"

namespace sotto::detail {

/// All reasons to leave a teacher out whose turn it is.
inline constexpr std::array reasons_to_leave_out{
    left_out::absent,     left_out::unreadable, left_out::other_architecture, left_out::other_deal,
    left_out::not_finite, left_out::too_old,    left_out::too_far_ahead,      left_out::worse};

/// Steps in a row for which a teacher was left out.
struct left_out_steps {
    left_out why = left_out::absent;   // the reason
    std::int64_t first = 0, last = 0;  // steps

    friend bool operator==(const left_out_steps&, const left_out_steps&) = default;
};

/// How often a teacher was left out for a reason, and for how many steps together.
struct left_out_count {
    std::int64_t times = 0, steps = 0;  // stretches of steps, and steps

    friend bool operator==(const left_out_count&, const left_out_count&) = default;
};

/// What became of one teacher.
struct teacher_record {
    static constexpr std::size_t stretches_max = 32;  // of steps that are kept

    int group = 0;                 // its group
    std::size_t place = 0;         // among all, in the order in which they came
    std::int64_t newest = -1;      // step of its newest model; -1: there was none
    std::int64_t first_heard = 0;  // in this step; 0: never
    std::int64_t heard = 0;        // steps
    double ages = 0.0;             // of its models in these, added up
    double label_loss = std::numeric_limits<double>::quiet_NaN();  // on its student's data, lately
    std::optional<left_out> stands{};  // after the last step that counts
    std::int64_t stands_since = 0;     // the step in which it was first so
    std::int64_t changes = 0;          // of how it stands, the first one too
    std::array<left_out_count, reasons_to_leave_out.size()> reasons{};  // in their order
    std::vector<left_out_steps> stretches{};                            // the first of them
    std::string details{};  // of what could not be used the last time

    /// How old its models were that were heard, on average; not a number where none was.
    double age() const noexcept { return ages / static_cast<double>(heard); }
    /// For any reason.
    left_out_count left_out_in_all() const noexcept {
        left_out_count sum;
        for (const left_out_count& r : reasons) sum.times += r.times, sum.steps += r.steps;
        return sum;
    }

    friend bool operator==(const teacher_record& a, const teacher_record& b) {
        const auto same = [](double x, double y) { return x == y || (is_nan(x) && is_nan(y)); };
        return a.group == b.group && a.place == b.place && a.newest == b.newest &&
               a.first_heard == b.first_heard && a.heard == b.heard && a.ages == b.ages &&
               same(a.label_loss, b.label_loss) && a.stands == b.stands &&
               a.stands_since == b.stands_since && a.changes == b.changes &&
               a.reasons == b.reasons && a.stretches == b.stretches && a.details == b.details;
    }
};

/// What a rank's teachers were like, step by step. What counts are lessons: steps in which somebody
/// was heard, or could not be, from the first of which there was anything of a teacher. Before it,
/// and where what teachers say has no weight, nobody is left out.
///   cost    a step O(teachers). A teacher takes memory when it comes and when it is left out anew
class taught_record {
public:
    /// Whether a round is one of a rank that has teachers, or cannot be one.
    static bool tells(const taught_report& round) noexcept {
        return round.teachers > 0 || !round.standings.empty() || !round.problem.empty();
    }

    /// A step that stands for itself and those before it, `times` in all.
    void add(std::int64_t step, const taught_report& round, std::int64_t times = 1) {
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
            const teacher_standing& standing = round.standings[i];
            teacher_record& teacher = record_of(standing.group, i);
            if (standing.step >= 0) teacher.newest = standing.step;
            if (is_finite(standing.label_loss)) teacher.label_loss = standing.label_loss;
            if (!standing.details.empty() && standing.details != teacher.details)
                teacher.details = standing.details;
            if (counts) count(teacher, standing, first, step);
        }
    }

    /// Whether anything was told of teachers.
    bool is_told() const noexcept { return is_told_; }
    /// What became of its own.
    const published_record& published() const noexcept { return published_; }
    /// By their groups.
    std::span<const teacher_record> teachers() const noexcept { return teachers_; }
    /// Steps that count.
    std::int64_t lessons() const noexcept { return lessons_; }
    /// Those of them in which somebody was heard.
    std::int64_t taught() const noexcept { return taught_; }
    /// The first step that counts; 0: none does, as of the last.
    std::int64_t began() const noexcept { return began_; }
    /// The last step that counts.
    std::int64_t last() const noexcept { return last_; }

    /// Among all.
    std::size_t place_of(int group, std::size_t likely) { return record_of(group, likely).place; }

    friend bool operator==(const taught_record&, const taught_record&) = default;

private:
    bool is_lesson(const taught_report& round) const noexcept {
        if (round.teachers > 0) return true;
        bool is_there = lessons_ > 0;
        for (const teacher_standing& standing : round.standings) {
            if (standing.why == left_out::no) return false;  // and yet not heard: without weight
            is_there |= standing.why != left_out::absent;
        }
        return is_there;
    }

    teacher_record& record_of(int group, std::size_t likely) {
        if (likely < teachers_.size() && teachers_[likely].group == group) return teachers_[likely];
        const auto at =
            std::lower_bound(teachers_.begin(), teachers_.end(), group,
                             [](const teacher_record& t, int other) { return t.group < other; });
        if (at != teachers_.end() && at->group == group) return *at;
        return *teachers_.insert(at, {.group = group, .place = teachers_.size()});
    }

    static void count(teacher_record& teacher, const teacher_standing& standing, std::int64_t first,
                      std::int64_t step) {
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
            teacher.ages +=
                static_cast<double>(times) * static_cast<double>(step - 1 - standing.step);
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

    std::vector<teacher_record> teachers_;
    published_record published_;
    bool is_told_ = false;
    std::int64_t lessons_ = 0, taught_ = 0, began_ = 0, last_ = 0;
};

}  // namespace sotto::detail
