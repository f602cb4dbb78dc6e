#include "sotto/strategies/model_groups.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "sotto/core/errors.hpp"

using namespace sotto;

TEST_CASE("who learns from whom") {
    using ints = std::vector<int>;
    const auto plan = [](codistillation_groups::lessons_from whom, int own, int count) {
        return detail::lesson_plan(whom, {own, count}, 3);
    };
    CHECK(plan(codistillation_groups::lessons_from::all, 1, 4).teachers() == ints{0, 2, 3});
    CHECK(plan(codistillation_groups::lessons_from::all, 1, 4).students(7) == ints{0, 2, 3});
    CHECK(plan(codistillation_groups::lessons_from::ring, 0, 3).teachers() == ints{2});
    CHECK(plan(codistillation_groups::lessons_from::ring, 0, 3).students() == ints{1});
    CHECK(plan(codistillation_groups::lessons_from::ring, 1, 2).teachers(5) == ints{0});
    CHECK(plan(codistillation_groups::lessons_from::pairs, 2, 4).teachers() == ints{3});
    CHECK(plan(codistillation_groups::lessons_from::pairs, 3, 4).students(9) == ints{2});
    CHECK(plan(codistillation_groups::lessons_from::random, 2, 4).teachers() == ints{0, 1, 3});
    for (const auto whom :
         {codistillation_groups::lessons_from::all, codistillation_groups::lessons_from::ring,
          codistillation_groups::lessons_from::random}) {
        CHECK(plan(whom, 0, 1).teachers().empty());
        CHECK(plan(whom, 0, 1).teachers(3).empty());
        CHECK(plan(whom, 0, 1).students(3).empty());
    }
}

TEST_CASE("by chance each group has another teacher, and each one student, in every interval") {
    std::set<std::vector<int>> seen;
    for (std::int64_t interval = 0; interval < 40; ++interval) {
        std::vector<int> teacher_of;
        std::set<int> teachers;
        for (int own = 0; own < 5; ++own) {
            const detail::lesson_plan plan(codistillation_groups::lessons_from::random, {own, 5},
                                           11);
            const auto found = plan.teachers(interval);
            REQUIRE(found.size() == 1);
            CHECK(found[0] != own);
            teachers.insert(found[0]);
            teacher_of.push_back(found[0]);
            CHECK(
                detail::lesson_plan(codistillation_groups::lessons_from::random, {found[0], 5}, 11)
                    .students(interval) == std::vector<int>{own});
        }
        CHECK(teachers.size() == 5);
        seen.insert(teacher_of);
    }
    CHECK(seen.size() == 4);  // all shifts come
}

TEST_CASE("pairs of an odd number of groups are refused") {
    CHECK_THROWS_WITH_AS(
        detail::lesson_plan(codistillation_groups::lessons_from::pairs, {0, 3}),
        "codistillation_groups: lessons is pairs, but count is 3; expected an even number",
        invalid_option);
}
