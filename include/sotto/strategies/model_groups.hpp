#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/core/random.hpp"
#include "sotto/core/require_option.hpp"

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
    void check(int ranks) const {
        constexpr const char* name = "codistillation_groups";
        require_option(name, "count", count, detail::allowed::at_least(1));
        require_option(name, "every", every, detail::allowed::at_least(1));
        require_option(name, "burn_in", burn_in, detail::allowed::at_least(0));
        require_option(name, "only", only, detail::allowed::at_least(-1).below(count),
                       ", the number of groups");
        if (only < 0)
            require_option(name, "count", count, detail::allowed::at_least(1).at_most(ranks),
                           ", the number of ranks");
        require_option(name, "common", common, detail::allowed::at_least(0.0).at_most(1.0));
    }

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
inline const char* name_of(codistillation_groups::lessons_from whom) noexcept {
    constexpr const char* names[] = {"all", "ring", "pairs", "random"};
    return names[static_cast<int>(whom)];
}

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
                std::uint64_t seed = 0)
        : whom_(whom), groups_(groups), random_(random_stream(seed).split("lessons")) {
        if (whom == codistillation_groups::lessons_from::pairs && groups.count % 2 != 0)
            throw invalid_option("codistillation_groups: lessons is pairs, but count is " +
                                 std::to_string(groups.count) + "; expected an even number");
    }

    /// Groups that teach this one then.
    std::vector<int> teachers(std::int64_t interval) const { return at(interval, 1); }
    /// Groups that this one teaches then.
    std::vector<int> students(std::int64_t interval) const { return at(interval, -1); }

    /// Those of any interval.
    std::vector<int> teachers() const {
        return whom_ == codistillation_groups::lessons_from::random ? others() : teachers(0);
    }
    /// The same of those that it teaches.
    std::vector<int> students() const {
        return whom_ == codistillation_groups::lessons_from::random ? others() : students(0);
    }

private:
    std::vector<int> at(std::int64_t interval, int direction) const {
        if (groups_.count == 1) return {};
        switch (whom_) {
            case codistillation_groups::lessons_from::ring: return {shifted(-direction)};
            case codistillation_groups::lessons_from::pairs: return {groups_.own ^ 1};
            case codistillation_groups::lessons_from::random: {
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

    codistillation_groups::lessons_from whom_;
    model_groups groups_;
    random_stream random_;
};

}  // namespace sotto::detail
