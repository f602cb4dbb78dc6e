#include "sotto/logging/detail/round_times.hpp"

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

using namespace sotto;
using namespace std::chrono_literals;

namespace {

/// Spans as text: what, of which tensor, from when to when.
std::string told(const detail::round_times& round) {
    std::string out;
    for (const detail::worker_span& s : worker_spans(round)) {
        out += name_of(s.what);
        if (s.tensor != detail::worker_span::no_tensor) out += " " + std::to_string(s.tensor);
        out += " " + std::to_string(static_cast<int>(s.begin)) + "-" +
               std::to_string(static_cast<int>(s.end)) + "; ";
    }
    return out;
}

}  // namespace

TEST_CASE("a worker computes until a tensor is ready, and compresses until it leaves") {
    const detail::round_times round{
        .agreed = 40, .ended = 44, .apply = 6, .tensors = {{20, 23, 30, 33}, {10, 12, 20, 35}}};
    CHECK(told(round) ==
          "compute 1 0-10; compress 1 10-12; compute 0 12-20; compress 0 20-23; decode 0 30-33; "
          "decode 1 33-35; apply 35-37; apply 40-44; ");
    const detail::overlap found = overlap_of(round);
    CHECK(found.exchange == 8 + 7);
    CHECK(found.hidden == 8);
    CHECK(found.share() == doctest::Approx(8.0 / 15));
}

TEST_CASE("where all are compressed after the last was computed, computing is not compressing") {
    const detail::round_times round{
        .agreed = 40, .ended = 40, .tensors = {{20, 24, 30, 31}, {10, 21, 25, 31}}};
    CHECK(told(round) ==
          "compute 1 0-10; compute 0 10-20; compress 1 20-21; compress 0 21-24; decode 0 30-31; ");
    CHECK(overlap_of(round).hidden == 3);
    CHECK(overlap_of(round).exchange == 9);
}

TEST_CASE("tensors that are ready at once are told one after the other, the last one first") {
    const detail::round_times round{
        .agreed = 9, .ended = 9, .tensors = {{5, 7, 9, 9}, {5, 6, 8, 9}}};
    CHECK(told(round) == "compute 1 0-5; compress 1 5-6; compress 0 6-7; ");
}

TEST_CASE("a round without tensors, without an exchange or without an order is told without harm") {
    CHECK(told({}).empty());
    CHECK(detail::overlap_of({}).share() == 0.0);
    CHECK(detail::overlap_of({.tensors = {{1, 2, 2, 2}}}).share() == 0.0);
    const detail::round_times backwards{
        .agreed = 1, .ended = 0, .apply = 9, .tensors = {{9, 7, 3, 1}, {2, 8, 5, 4}}};
    double now = 0.0;
    for (const detail::worker_span& s : worker_spans(backwards)) {
        CHECK(s.begin >= now);
        CHECK(s.end > s.begin);
        now = s.end;
    }
    CHECK(overlap_of(backwards).exchange >= 0.0);
}

TEST_CASE("times are taken from a step's report in seconds") {
    const std::array times{detail::tensor_times{1ms, 2ms, 4ms, 8ms}, detail::tensor_times{}};
    step_report step{.step = 3};
    step.round.tensor_times = times;
    step.round.agreed = 9ms;
    step.round.ended = 10ms;
    step.round.apply = 5ms;
    detail::round_times round{.tensors = std::vector<detail::round_times::of_tensor>(7)};
    round.take(step);
    CHECK(round == detail::round_times{3, 0.009, 0.010, 0.005, {{0.001, 0.002, 0.004, 0.008}, {}}});
}
