#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sotto/core/detail/memory/finite.hpp"
#include "sotto/logging/detail/published_record.hpp"
#include "sotto/strategies/detail/codistillation/teacher_status.hpp"
#include "sotto/strategies/round_report.hpp"

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
    left_out_count left_out_in_all() const noexcept;

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
    static bool tells(const taught_report& round) noexcept;

    /// A step that stands for itself and those before it, `times` in all.
    void add(std::int64_t step, const taught_report& round, std::int64_t times = 1);

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
    bool is_lesson(const taught_report& round) const noexcept;

    teacher_record& record_of(int group, std::size_t likely);

    static void count(teacher_record& teacher, const teacher_status& standing, std::int64_t first,
                      std::int64_t step);

    std::vector<teacher_record> teachers_;
    published_record published_;
    bool is_told_ = false;
    std::int64_t lessons_ = 0, taught_ = 0, began_ = 0, last_ = 0;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/logging/detail/taught_record.ipp"
#endif
