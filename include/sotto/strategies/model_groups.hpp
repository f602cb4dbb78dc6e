#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/core/random.hpp"

namespace sotto {

/// Models that are trained side by side.
struct model_groups {
    int own = 0;    // which of them is trained here
    int count = 1;  // of all
};

/// Who learns from whom.
enum class lessons_from {
    all,    // the mean of all others
    ring,   // the group before; the first from the last
    pairs,  // 0 and 1 from each other, 2 and 3, ...
    random  // in each interval another one, that all have one student
};

/// As it is written in options: "all", "ring", "pairs" or "random".
inline const char* name_of(lessons_from whom) noexcept {
    constexpr const char* names[] = {"all", "ring", "pairs", "random"};
    return names[static_cast<int>(whom)];
}

}  // namespace sotto

namespace sotto::detail {

/// The groups that teach a group in its interval `interval`, and those that it teaches in the same
/// one of theirs, ascending.
class lesson_plan {
public:
    ///   errors  invalid_option: pairs of an odd number of groups
    lesson_plan(lessons_from whom, model_groups groups, std::uint64_t seed = 0)
        : whom_(whom), groups_(groups), random_(random_stream(seed).split("lessons")) {
        if (whom == lessons_from::pairs && groups.count % 2 != 0)
            throw invalid_option("codistillation_groups: lessons is pairs, but count is " +
                                 std::to_string(groups.count) + "; expected an even number");
    }

    /// Groups that teach this one then.
    std::vector<int> teachers(std::int64_t interval) const { return at(interval, 1); }
    /// Groups that this one teaches then.
    std::vector<int> students(std::int64_t interval) const { return at(interval, -1); }

    /// Those of any interval.
    std::vector<int> teachers() const {
        return whom_ == lessons_from::random ? others() : teachers(0);
    }
    /// The same of those that it teaches.
    std::vector<int> students() const {
        return whom_ == lessons_from::random ? others() : students(0);
    }

private:
    std::vector<int> at(std::int64_t interval, int direction) const {
        if (groups_.count == 1) return {};
        switch (whom_) {
            case lessons_from::ring: return {shifted(-direction)};
            case lessons_from::pairs: return {groups_.own ^ 1};
            case lessons_from::random: {
                random_stream here = random_.split(static_cast<std::uint64_t>(interval));
                const auto by = 1 + here.below(static_cast<std::uint64_t>(groups_.count) - 1);
                return {shifted(direction * static_cast<int>(by))};
            }
            default: return others();
        }
    }

    int shifted(int by) const noexcept {
        return ((groups_.own + by) % groups_.count + groups_.count) % groups_.count;
    }

    std::vector<int> others() const {
        std::vector<int> all;
        for (int group = 0; group < groups_.count; ++group)
            if (group != groups_.own) all.push_back(group);
        return all;
    }

    lessons_from whom_;
    model_groups groups_;
    random_stream random_;
};

}  // namespace sotto::detail
