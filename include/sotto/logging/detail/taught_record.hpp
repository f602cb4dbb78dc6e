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

/// All reasons to leave a teacher out, except that it is not its turn.
inline constexpr std::array reasons_to_leave_out{
    left_out::absent,     left_out::unreadable, left_out::other_architecture, left_out::other_deal,
    left_out::not_finite, left_out::too_old,    left_out::too_far_ahead,      left_out::worse};

/// Consecutive steps that left a teacher out.
struct left_out_steps {
    left_out why = left_out::absent;   // reason
    std::int64_t first = 0, last = 0;  // first and last step

    friend bool operator==(const left_out_steps&, const left_out_steps&) = default;
};

/// How often a teacher was left out for a reason, and for how many steps in total.
struct left_out_count {
    std::int64_t times = 0, steps = 0;  // number of stretches, number of steps

    friend bool operator==(const left_out_count&, const left_out_count&) = default;
};

/// Statistics of one teacher.
struct teacher_record {
    static constexpr std::size_t stretches_max = 32;  // most stretches stored

    int group = 0;                 // its group
    std::size_t place = 0;         // index among all, in the order of their first steps
    std::int64_t newest = -1;      // step of its newest model; -1: no model
    std::int64_t first_heard = 0;  // first step that used it; 0: never
    std::int64_t heard = 0;        // number of steps that used it
    double ages = 0.0;             // sum of its models' ages in these steps
    double label_loss = std::numeric_limits<double>::quiet_NaN();  // latest, on its student's data
    std::optional<left_out> stands{};  // state after the last step that counts
    std::int64_t stands_since = 0;     // first step of that state
    std::int64_t changes = 0;          // number of states, with the first one
    std::array<left_out_count, reasons_to_leave_out.size()> reasons{};  // counts by reason
    std::vector<left_out_steps> stretches{};  // first stretches that left it out
    std::string details{};                    // details of its last problem

    /// Returns the mean age of its models when used; NaN if never.
    double age() const noexcept { return ages / static_cast<double>(heard); }
    /// Returns the sum over all reasons.
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

/// The teachers of a rank, step by step. Only lessons count: steps that used a teacher or could
/// not, from the first step in which any teacher existed. Earlier steps, and steps in which
/// teachers have no weight, leave no teacher out.
///   cost    a step O(teachers). A teacher allocates memory when it appears and when it is left out
///           again
class taught_record {
public:
    /// True if the round's rank has teachers, or reports why it cannot publish.
    static bool tells(const taught_report& round) noexcept;

    /// Adds a step that represents itself and those before it, `times` in total.
    void add(std::int64_t step, const taught_report& round, std::int64_t times = 1);

    /// True if any step had teachers.
    bool is_told() const noexcept { return is_told_; }
    /// Returns the statistics of the rank's own models.
    const published_record& published() const noexcept { return published_; }
    /// Returns the teachers by group.
    std::span<const teacher_record> teachers() const noexcept { return teachers_; }
    /// Number of steps that count.
    std::int64_t lessons() const noexcept { return lessons_; }
    /// Number of these steps that used a teacher.
    std::int64_t taught() const noexcept { return taught_; }
    /// First step that counts; 0 if none does.
    std::int64_t began() const noexcept { return began_; }
    /// Last step that counts; 0 if none does.
    std::int64_t last() const noexcept { return last_; }

    /// Returns the index of a teacher among all. `likely` is its probable place in `teachers`.
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
