#pragma once

#include <cstdint>
#include <vector>

#include "sotto/core/random.hpp"

namespace sotto {

/// Models that are trained side by side, and how they meet.
struct codistillation_groups {
    /// Who learns from whom.
    enum class lessons_from {
        all,    // the mean of all others
        ring,   // the group before; the first from the last
        pairs,  // 0 and 1 from each other, 2 and 3, ...
        random  // in each interval another one, that all have one student
    };

    int count = 2;             // models
    std::int64_t every = 50;   // steps from one exchange of models to the next
    std::int64_t burn_in = 0;  // steps before the first that is taught
    double common = 0.0;       // the part of the data that all groups read; 0: disjoint shards
    int only = -1;             // the group that this job is alone; -1: it is all of them
    lessons_from lessons = lessons_from::all;  // who learns from whom
    std::uint64_t seed = 0;                    // of lessons_from::random; the same for all groups

    /// Throws invalid_option for a world of so many ranks where groups cannot be formed.
    void check(int ranks) const;

    void describe(auto&& field) const {
        field("count", count);
        field("every", every);
        field("burn_in", burn_in);
        field("common", common);
        field("lessons", lessons);
        field("seed", seed);
    }
};

/// As it is written in options: "all", "ring", "pairs" or "random".
const char* name_of(codistillation_groups::lessons_from whom) noexcept;

}  // namespace sotto

namespace sotto::detail {

/// Models that are trained side by side.
struct model_groups {
    int own = 0;    // which of them is trained here
    int count = 1;  // of all
};

/// The groups that teach a group in its interval `interval`, and those that it teaches in the same
/// one of theirs, ascending.
class lesson_plan {
public:
    ///   errors  invalid_option: pairs of an odd number of groups
    lesson_plan(codistillation_groups::lessons_from whom, model_groups groups,
                std::uint64_t seed = 0);

    /// Groups that teach this one then.
    std::vector<int> teachers(std::int64_t interval) const { return at(interval, 1); }
    /// Groups that this one teaches then.
    std::vector<int> students(std::int64_t interval) const { return at(interval, -1); }

    /// Those of any interval.
    std::vector<int> teachers() const;
    /// The same of those that it teaches.
    std::vector<int> students() const;

private:
    std::vector<int> at(std::int64_t interval, int direction) const;

    int shifted(int by) const noexcept;

    std::vector<int> others() const;

    codistillation_groups::lessons_from whom_;
    model_groups groups_;
    random_stream random_;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/model_groups.ipp"
#endif
