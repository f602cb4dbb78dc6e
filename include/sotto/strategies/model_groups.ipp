#pragma once

#include "sotto/strategies/model_groups.hpp"

#include <string>

#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/require_option.hpp"

namespace sotto {

SOTTO_DECL void codistillation_groups::check(int ranks) const {
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

SOTTO_DECL const char* name_of(codistillation_groups::lessons_from whom) noexcept {
    constexpr const char* names[] = {"all", "ring", "pairs", "random"};
    return names[static_cast<int>(whom)];
}

}  // namespace sotto

namespace sotto::detail {

SOTTO_DECL lesson_plan::lesson_plan(codistillation_groups::lessons_from whom, model_groups groups,
                                    std::uint64_t seed)
    : whom_(whom), groups_(groups), random_(random_stream(seed).split("lessons")) {
    if (whom == codistillation_groups::lessons_from::pairs && groups.count % 2 != 0)
        throw invalid_option("codistillation_groups: lessons is pairs, but count is " +
                             std::to_string(groups.count) + "; expected an even number");
}

SOTTO_DECL std::vector<int> lesson_plan::teachers() const {
    return whom_ == codistillation_groups::lessons_from::random ? others() : teachers(0);
}

SOTTO_DECL std::vector<int> lesson_plan::students() const {
    return whom_ == codistillation_groups::lessons_from::random ? others() : students(0);
}

SOTTO_DECL std::vector<int> lesson_plan::at(std::int64_t interval, int direction) const {
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

SOTTO_DECL int lesson_plan::shifted(int by) const noexcept {
    return ((groups_.own + by) % groups_.count + groups_.count) % groups_.count;
}

SOTTO_DECL std::vector<int> lesson_plan::others() const {
    std::vector<int> all;
    for (int group = 0; group < groups_.count; ++group)
        if (group != groups_.own) all.push_back(group);
    return all;
}

}  // namespace sotto::detail
