#include "sotto/report/detail/charts/report_axis.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "sotto/report/detail/charts/report_chart.hpp"
#include "sotto/logging/detail/report_text.hpp"
#include "support/made_up_run.hpp"

using namespace sotto;
using testing::fault_of, testing::made_up, testing::page;

TEST_CASE("ticks are round, few and inside") {
    for (const auto& [low, high] :
         {std::pair(0.0, 1.0), std::pair(0.013, 0.97), std::pair(-3.0, 8.5), std::pair(5.0, 5.0),
          std::pair(0.0, 0.0), std::pair(1e-9, 1e9)}) {
        const sotto::detail::reporting::axis a = sotto::detail::reporting::linear_axis(low, high);
        CHECK(a.ticks.size() >= 2);
        CHECK(a.ticks.size() <= 7);
        CHECK(a.low <= low);
        CHECK(a.high >= high);
        for (std::size_t i = 1; i < a.ticks.size(); ++i) CHECK(a.ticks[i] > a.ticks[i - 1]);
    }
    const auto plain = [](double v) { return sotto::detail::reporting::digits(v, 1); };
    for (const auto& [low, high] :
         {std::pair(1e-3, 1e3), std::pair(0.4, 3.0), std::pair(1.0, 1e12), std::pair(2.0, 2.0)}) {
        const sotto::detail::reporting::axis a =
            sotto::detail::reporting::log_axis(low, high, 10.0, plain);
        CHECK(a.ticks.size() >= 2);
        CHECK(a.ticks.size() <= 7);
        CHECK(a.place(low) == doctest::Approx(0.0));
        CHECK(a.place(a.high) == doctest::Approx(1.0));
        CHECK_FALSE(a.shows(0.0));
    }
}

TEST_CASE("any numbers give an axis: files may hold all of them") {
    const auto plain = [](double v) { return sotto::detail::reporting::digits(v, 1); };
    const double all[] = {5e-324,
                          2e-322,
                          1e-310,
                          1e-300,
                          1e-9,
                          0.3,
                          1.0,
                          7e9,
                          1e300,
                          1e308,
                          std::numeric_limits<double>::max()};
    for (const double a : all)
        for (const double b : all) {
            for (const auto& [low, high] : {std::pair(a, b), std::pair(-a, b), std::pair(-a, -b)}) {
                const sotto::detail::reporting::axis linear =
                    sotto::detail::reporting::linear_axis(std::min(low, high), std::max(low, high));
                CHECK(linear.ticks.size() >= 2);
                CHECK(linear.ticks.size() <= 8);
                for (const double tick : linear.ticks) {
                    CHECK(std::isfinite(tick));
                    CHECK(linear.label(tick).size() < 40);
                    const double place = linear.place(tick);
                    CHECK(place >= 0.0);
                    CHECK(place <= 1.0);
                }
            }
            for (const double base : {4.0, 10.0}) {
                const sotto::detail::reporting::axis log =
                    sotto::detail::reporting::log_axis(std::min(a, b), std::max(a, b), base, plain);
                CHECK(log.ticks.size() >= 2);
                CHECK(log.ticks.size() <= 20);
                for (const double tick : log.ticks) CHECK(std::isfinite(tick));
            }
            CHECK(sotto::detail::reporting::axis_from_zero(b).low == 0.0);
            CHECK(sotto::detail::reporting::axis_from_zero(b).ticks.size() <= 8);
        }
    for (const auto& [one, two] : {std::pair(5e-324, 2e-322), std::pair(-1e308, 1e308)}) {
        run_log log;
        log.begin({.world_size = 2});
        log.add(run_log::step{.number = 1, .loss = one});
        log.add(run_log::step{.number = 2, .loss = two});
        CHECK(fault_of(page({log})) == "");
    }
    // A link so slow that a step takes for ever.
    const std::vector<run_log> runs{made_up("dense", 20, 1.0, 0.9), made_up("dgc", 20, 0.05, 0.9)};
    for (const double rate : {1e-37, 1e-12, 1e38})
        CHECK(fault_of(page(runs, {.link = network_link{rate, 0.001}})) == "");
}

TEST_CASE("ticks that differ have labels that differ") {
    const auto differ = [](const sotto::detail::reporting::axis& a) {
        for (std::size_t i = 1; i < a.ticks.size(); ++i)
            CHECK(a.label(a.ticks[i]) != a.label(a.ticks[i - 1]));
        CHECK(a.ticks.size() >= 2);
    };
    for (const double steps : {1.0, 2.0, 3.0, 4.0, 7.0, 1234.0}) {
        differ(sotto::detail::reporting::counting_axis(steps));
        for (const double tick : sotto::detail::reporting::counting_axis(steps).ticks)
            CHECK(tick == std::round(tick));
    }
    for (const auto& [low, high] :
         {std::pair(0.0, 1.0), std::pair(0.97, 0.98), std::pair(0.9701, 0.9702),
          std::pair(0.5, 0.5), std::pair(0.0, 0.0), std::pair(1.0, 1.0), std::pair(0.99999, 1.0)}) {
        const sotto::detail::reporting::axis a = sotto::detail::reporting::share_axis(low, high);
        differ(a);
        CHECK(a.low >= 0.0);
        CHECK(a.high <= 1.0);
        CHECK(a.low <= low + 1e-9);
        CHECK(a.high >= high - 1e-9);
    }
}

TEST_CASE("thinned curves keep their extremes") {
    std::vector<sotto::detail::reporting::dot> points;
    for (int i = 0; i < 10'000; ++i) points.push_back({double(i), double(i % 7)});
    points[4321].y = 100.0;
    points[1234].y = -100.0;
    const auto thin = sotto::detail::reporting::thinned(points, 200);
    CHECK(thin.size() <= 200);
    double least = 0.0, most = 0.0, last = -1.0;
    for (const sotto::detail::reporting::dot& p : thin) {
        least = std::min(least, p.y);
        most = std::max(most, p.y);
        CHECK(p.x > last);
        last = p.x;
    }
    CHECK(least == -100.0);
    CHECK(most == 100.0);
    CHECK(sotto::detail::reporting::thinned(points, 20'000).size() == points.size());
}

TEST_CASE("numbers are written for people") {
    CHECK(sotto::detail::reporting::bytes(0.0) == "0\u202fB");
    CHECK(sotto::detail::reporting::bytes(1536.0) == "1.50\u202fKiB");
    CHECK(sotto::detail::reporting::bytes(1024.0 * 1024.0) == "1\u202fMiB");
    CHECK(sotto::detail::reporting::seconds(0.00025) == "250\u202fµs");
    CHECK(sotto::detail::reporting::seconds(61.5) == "61.5\u202fs");
    CHECK(sotto::detail::reporting::seconds(3725.0) == "62\u202fmin 5\u202fs");
    CHECK(sotto::detail::reporting::seconds(86400.0) == "24\u202fh 0\u202fmin");
    CHECK(sotto::detail::reporting::bandwidth(125e6) == "1\u202fGbit/s");
    CHECK(sotto::detail::reporting::counted(1234567.0) == "1\u202f234\u202f567");
    CHECK(sotto::detail::reporting::percent(0.96154) == "96.15\u202f%");
    CHECK(sotto::detail::reporting::times(1.04) == "1.0\u202f×");
    CHECK(sotto::detail::reporting::fixed(-0.0001, 2) == "0.00");
    CHECK(sotto::detail::reporting::digits(0.012345) == "0.0123");
    CHECK(sotto::detail::reporting::digits(std::numeric_limits<double>::infinity()) == "∞");
}
