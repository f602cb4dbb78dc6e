#include "sotto/logging/detail/taught_record.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sotto/logging/detail/taught_summary.hpp"
#include "support/taught_run.hpp"

using namespace sotto;

namespace {

detail::teacher_status standing(int group, detail::left_out why, std::int64_t step = 10) {
    return {.group = group, .step = why == detail::left_out::absent ? -1 : step, .why = why};
}

/// A step of one teacher, which is heard where it is listened to.
void add(detail::taught_record& record, std::int64_t step, detail::left_out why,
         std::int64_t times = 1) {
    const std::array standings{standing(1, why)};
    record.add(step, {.teachers = why == detail::left_out::no ? 1 : 0, .standings = standings},
               times);
}

detail::left_out_count out_for(const detail::teacher_record& teacher, detail::left_out why) {
    for (std::size_t i = 0; i < detail::reasons_to_leave_out.size(); ++i)
        if (detail::reasons_to_leave_out[i] == why) return teacher.reasons[i];
    return {-1, -1};
}

}  // namespace

TEST_CASE("every reason has its place, and being heard is none") {
    for (const detail::left_out why : detail::reasons_to_leave_out) {
        detail::taught_record record;
        add(record, 11, detail::left_out::no);
        add(record, 12, why);
        CHECK(out_for(record.teachers()[0], why) == detail::left_out_count{1, 1});
        CHECK(record.teachers()[0].left_out_in_all() == detail::left_out_count{1, 1});
        CHECK(why != detail::left_out::no);
    }
}

TEST_CASE("steps in which it is another one's turn count neither as heard nor as left out") {
    detail::taught_record record;
    add(record, 1, detail::left_out::no);
    for (std::int64_t s = 2; s <= 9; ++s) add(record, s, detail::left_out::not_its_turn);
    add(record, 10, detail::left_out::no);
    const detail::teacher_record& teacher = record.teachers()[0];
    CHECK(teacher.heard == 2);
    CHECK(teacher.changes == 1);
    CHECK(teacher.left_out_in_all() == detail::left_out_count{});
}

TEST_CASE("before there is anything of any teacher nobody is left out") {
    detail::taught_record record;
    record.add(1, {});
    CHECK_FALSE(record.is_told());
    for (std::int64_t s = 1; s <= 10; ++s) add(record, s, detail::left_out::absent);
    CHECK(record.is_told());
    CHECK(record.lessons() == 0);
    CHECK(record.began() == 0);
    CHECK(record.teachers()[0].newest == -1);
    CHECK(record.teachers()[0].left_out_in_all() == detail::left_out_count{});
    for (std::int64_t s = 11; s <= 30; ++s) add(record, s, detail::left_out::no);
    const detail::teacher_record& teacher = record.teachers()[0];
    CHECK(record.began() == 11);
    CHECK(record.lessons() == 20);
    CHECK(record.taught() == 20);
    CHECK(teacher.heard == 20);
    CHECK(teacher.first_heard == 11);
    CHECK(teacher.age() == 9.5);  // 0 to 19 steps after step 10
    CHECK(teacher.changes == 1);
    // Now that there was something, absence counts.
    add(record, 31, detail::left_out::absent);
    CHECK(record.lessons() == 21);
    CHECK(out_for(teacher, detail::left_out::absent) == detail::left_out_count{1, 1});
}

TEST_CASE("steps in which what teachers say has no weight count for nobody") {
    detail::taught_record record;
    const std::array standings{standing(1, detail::left_out::no),
                               standing(2, detail::left_out::worse)};
    record.add(11, {.teachers = 0, .standings = standings});
    CHECK(record.lessons() == 0);
    CHECK(record.teachers()[1].left_out_in_all().steps == 0);
    record.add(12, {.teachers = 1, .standings = standings});
    CHECK(record.lessons() == 1);
    CHECK(record.teachers()[0].heard == 1);
    CHECK(record.teachers()[1].left_out_in_all().steps == 1);
}

TEST_CASE("times of being left out are told apart by what is between, and by their reasons") {
    detail::taught_record record;
    std::int64_t step = 10;
    for (const auto& [why, count] :
         std::vector<std::pair<detail::left_out, int>>{{detail::left_out::no, 5},
                                                       {detail::left_out::worse, 3},
                                                       {detail::left_out::no, 2},
                                                       {detail::left_out::worse, 4},
                                                       {detail::left_out::not_finite, 6},
                                                       {detail::left_out::no, 1}})
        for (int i = 0; i < count; ++i) add(record, ++step, why);
    const detail::teacher_record& teacher = record.teachers()[0];
    CHECK(record.lessons() == 21);
    CHECK(teacher.heard == 8);
    CHECK(out_for(teacher, detail::left_out::worse) == detail::left_out_count{2, 7});
    CHECK(out_for(teacher, detail::left_out::not_finite) == detail::left_out_count{1, 6});
    CHECK(teacher.stretches ==
          std::vector<detail::left_out_steps>{{detail::left_out::worse, 16, 18},
                                              {detail::left_out::worse, 21, 24},
                                              {detail::left_out::not_finite, 25, 30}});
    CHECK(teacher.heard + teacher.left_out_in_all().steps == record.lessons());
    CHECK(teacher.stands == detail::left_out::no);
    CHECK(teacher.stands_since == 31);
    CHECK(teacher.changes == 6);
}

TEST_CASE("a step may stand for those before it") {
    detail::taught_record each, thin;
    for (std::int64_t s = 11; s <= 40; ++s)
        add(each, s, s > 20 && s <= 30 ? detail::left_out::too_old : detail::left_out::no);
    for (const std::int64_t s : {20, 30, 40})
        add(thin, s, s == 30 ? detail::left_out::too_old : detail::left_out::no, 10);
    CHECK(thin.lessons() == each.lessons());
    CHECK(thin.began() == 11);
    CHECK(thin.teachers()[0].stretches == each.teachers()[0].stretches);
    CHECK(thin.teachers()[0].heard == each.teachers()[0].heard);
}

TEST_CASE("however often a teacher is left out, all is counted and a bounded part is kept") {
    detail::taught_record record;
    for (std::int64_t s = 11; s <= 2010; ++s)
        add(record, s, s % 2 == 0 ? detail::left_out::worse : detail::left_out::no);
    const detail::teacher_record& teacher = record.teachers()[0];
    CHECK(teacher.stretches.size() == detail::teacher_record::stretches_max);
    CHECK(teacher.left_out_in_all() == detail::left_out_count{1000, 1000});
    CHECK(teacher.stretches.back() == detail::left_out_steps{detail::left_out::worse, 74, 74});
    CHECK(summary_of(record) ==
          "Group 1's models were heard in 50 % of the 2000 steps since step 11, on average 999 "
          "steps old, and left out 1000 times, for 1000 steps: worse.");
}

TEST_CASE("teachers are told apart by their groups, in whatever order they come") {
    detail::taught_record record;
    const std::array both{standing(1, detail::left_out::worse), standing(3, detail::left_out::no)};
    const std::span all(both);
    record.add(11, {.teachers = 1, .standings = all.last(1)});
    record.add(12, {.teachers = 0, .standings = all.first(1)});
    record.add(13, {.teachers = 1, .standings = all.last(1)});
    record.add(14, {.teachers = 1, .standings = all});
    REQUIRE(record.teachers().size() == 2);
    CHECK(record.teachers()[0].group == 1);
    CHECK(record.teachers()[0].place == 1);
    CHECK(record.teachers()[1].group == 3);
    CHECK(record.teachers()[1].place == 0);
    CHECK(record.teachers()[1].heard == 3);
    CHECK(record.teachers()[0].left_out_in_all() == detail::left_out_count{1, 2});
}

TEST_CASE("what was known last stays: the label loss, the newest model, what could not be read") {
    detail::taught_record record;
    std::array standings{standing(1, detail::left_out::no, 5)};
    standings[0].label_loss = 0.5;
    record.add(11, {.teachers = 1, .standings = standings});
    standings[0] = {
        .group = 1, .step = -1, .why = detail::left_out::unreadable, .details = "no such file"};
    record.add(12, {.standings = standings});
    standings[0] = {.group = 1, .step = -1, .why = detail::left_out::unreadable};
    record.add(13, {.standings = standings});
    const detail::teacher_record& teacher = record.teachers()[0];
    CHECK(teacher.label_loss == 0.5);
    CHECK(teacher.newest == 5);
    CHECK(teacher.details == "no such file");
    CHECK(told_change(teacher) == "group 1 is left out from step 12 on: unreadable (no such file)");
    standings[0] = {
        .group = 1, .step = 9, .why = detail::left_out::other_deal, .details = "by seed 2"};
    record.add(14, {.standings = standings});
    CHECK(told_change(teacher) ==
          "group 1 is left out from step 14 on: data dealt otherwise (by seed 2)");
    CHECK(troubles_in_the_end(record) == std::vector<std::string>{told_change(teacher)});
}

TEST_CASE("what became of teachers is told in sentences") {
    testing::two_teachers teachers;
    detail::taught_record record;
    CHECK(summary_of(record) == "");
    for (std::int64_t s = 1; s <= 50; ++s) record.add(s, teachers.at(s));
    CHECK(summary_of(record) == "No other model was heard: there was none yet.");
    for (std::int64_t s = 51; s <= 420; ++s) record.add(s, teachers.at(s));
    CHECK(summary_of(record) ==
          "Group 1's models were heard in all 370 steps since step 51, on average 23.7 steps old. "
          "Group 2's models were heard in 95 % of them, on average 24.5 steps old, and left out "
          "from step 401 on: not finite.");
    CHECK(troubles_in_the_end(record) ==
          std::vector<std::string>{"group 2 is left out from step 401 on: not finite"});
    for (std::int64_t s = 421; s <= 451; ++s) record.add(s, teachers.at(s));
    CHECK(told_change(record.teachers()[1]) ==
          "group 2 is heard again from step 451 on, by its model of step 450");
    for (std::int64_t s = 452; s <= 600; ++s) record.add(s, teachers.at(s));
    CHECK(summary_of(record) ==
          "Group 1's models were heard in all 550 steps since step 51, on average 24.5 steps old. "
          "Group 2's models were heard in 91 % of them, on average 24.5 steps old, and left out at "
          "steps 401 to 450: not finite.");
    CHECK(troubles_in_the_end(record).empty());
}

TEST_CASE("what became of a rank's own models is counted, and told when it changes") {
    detail::taught_record record;
    record.add(50, {.bytes_sent = 2048, .skipped = 1});
    CHECK_FALSE(record.is_told());  // nobody teaches, and nothing is wrong
    CHECK(record.published().since == 0);
    record.add(100, {.problem = "the disk is full"}, 10);
    CHECK(record.is_told());
    CHECK(record.published().since == 91);
    CHECK(told_change(record.published()) ==
          "no model is published from step 91 on: the disk is full");
    CHECK(troubles_in_the_end(record) ==
          std::vector<std::string>{"no model is published from step 91 on: the disk is full"});
    CHECK(summary_of(record.published()) ==
          "It published 2 KiB of models of its own. One was left out, for the one before was still "
          "under way. None is published from step 91 on: the disk is full.");
    record.add(101, {.problem = "the disk is full"});
    CHECK(record.published().problems == 1);
    CHECK(record.published().since == 91);
    record.add(102, {.problem = "the disk is gone: model-100"});
    record.add(103, {.problem = "the disk is gone: model-50"});  // and so at each try
    CHECK(record.published().problems == 2);
    CHECK(record.published().since == 102);
    record.add(150, {.bytes_sent = 1024, .skipped = 1});
    CHECK(told_change(record.published()) == "models are published again from step 150 on");
    CHECK(troubles_in_the_end(record).empty());
    CHECK(summary_of(record.published()) ==
          "It published 3 KiB of models of its own. 2 were left out, for the one before was still "
          "under way. None was published for a time, until step 150: the disk is gone: model-50.");
    CHECK(summary_of(detail::published_record{}) == "");
}

TEST_CASE("a teacher that was never heard, or had no weight, is told as that") {
    detail::taught_record never;
    for (std::int64_t s = 1; s <= 3; ++s) add(never, s, detail::left_out::other_architecture);
    CHECK(summary_of(never) == "Group 1 was never heard in all 3 steps: other architecture.");
    detail::taught_record weightless;
    const std::array standings{standing(1, detail::left_out::no)};
    weightless.add(11, {.standings = standings});
    CHECK(summary_of(weightless) == "No other model was heard: what they say had no weight yet.");
    detail::taught_record unnamed;
    unnamed.add(1, {.teachers = 1});
    CHECK(summary_of(unnamed) == "Other models were heard.");
    detail::taught_record many;
    std::vector<detail::teacher_status> all;
    for (int group = 1; group <= 9; ++group)
        all.push_back(standing(group, detail::left_out::no, 0));
    many.add(1, {.teachers = 9, .standings = all});
    CHECK(summary_of(many).ends_with(
        "Group 4's models were heard in all of them, on average 0 steps old. There were 5 more."));
}

TEST_CASE("neither none nor all is said of a part that is not") {
    CHECK(detail::part_of_steps(10, 10) == "all 10 steps");
    CHECK(detail::part_of_steps(1, 1) == "all 1 step");
    CHECK(detail::part_of_steps(9999, 10'000) == "99.9 % of the 10000 steps");
    CHECK(detail::part_of_steps(99, 100) == "99 % of the 100 steps");
    CHECK(detail::part_of_steps(1, 100'000) == "0.1 % of the 100000 steps");
    CHECK(detail::part_of_steps(0, 7) == "0 % of the 7 steps");
    CHECK(detail::part_of_steps(47, 50) == "94 % of the 50 steps");
    CHECK(detail::told_age(1.0) == "1 step old");
    CHECK(detail::told_age(36.6) == "36.6 steps old");
    CHECK(detail::told_age(-12.0) == "12 steps ahead");
    CHECK(detail::told_age(123.4) == "123 steps old");
    CHECK(detail::told_steps({detail::left_out::worse, 4, 4}, 4) == "at step 4");
    CHECK(detail::told_steps({detail::left_out::worse, 4, 9}, 9) == "from step 4 on");
    CHECK(detail::told_steps({detail::left_out::worse, 4, 9}, 10) == "at steps 4 to 9");
}
