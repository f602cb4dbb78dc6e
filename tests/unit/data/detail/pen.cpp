#include "sotto/data/detail/pen.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <vector>

using sotto::detail::data::curve;
using sotto::detail::data::line;
using sotto::detail::data::pen;
using sotto::detail::data::point;
using sotto::detail::data::trace;

namespace {
std::size_t at(std::size_t x, std::size_t y) {
    return y * 28 + x;
}
}  // namespace

TEST_CASE("a pen inks what is near its line, fully within the radius and fading outside") {
    pen p{256, 256};
    p.draw({5 * 256 + 128, 10 * 256 + 128}, {20 * 256 + 128, 10 * 256 + 128});
    for (std::size_t x = 5; x <= 20; ++x) {
        CHECK(p.ink(at(x, 10)) == 255);
        CHECK(p.ink(at(x, 9)) == 255);  // exactly one radius away
        CHECK(p.ink(at(x, 8)) == 0);    // radius and softness away
    }
    CHECK(p.ink(at(4, 10)) == 255);
    CHECK(p.ink(at(22, 10)) == 0);
    CHECK(p.ink(at(4, 9)) ==
          (512 - 362) * 255 / 256);  // the diagonal of a pixel from the line's end
}

TEST_CASE("a pen draws points and lines far outside without leaving the image") {
    pen p{100, 100};
    p.draw({-100000, -100000}, {-90000, -90000});
    p.draw({100000, 3000}, {100000, 3000});
    for (std::size_t i = 0; i < 784; ++i) CHECK(p.ink(i) == 0);
    p.draw({128, 128}, {128, 128});
    CHECK(p.ink(0) == 255);
}

TEST_CASE("a curve passes through its points, a line is drawn as it is") {
    const std::vector<point> through{{0, 0}, {100, 40}, {120, 90}, {0, 0}};
    std::vector<point> visited;
    trace(curve({{0, 0}, {100, 40}, {120, 90}, {0, 0}}), [&](point a, point b) {
        if (visited.empty()) visited.push_back(a);
        CHECK(visited.back().x == a.x);
        visited.push_back(b);
    });
    REQUIRE(visited.size() == 13);
    for (std::size_t i = 0; i < through.size(); ++i) {
        CHECK(visited[4 * i].x == through[i].x);
        CHECK(visited[4 * i].y == through[i].y);
    }
    int pieces = 0;
    trace(line({{0, 0}, {5, 5}, {9, 1}}), [&](point, point) { ++pieces; });
    trace(line({}), [&](point, point) { ++pieces; });
    CHECK(pieces == 2);
}
