#pragma once

#include "sotto/data/digits.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/require_option.hpp"
#include "sotto/data/detail/pen.hpp"

namespace sotto::detail::data {

SOTTO_DECL point affine::operator()(point p) const {
    return {(xx * p.x + xy * p.y) / one + shift.x, (yx * p.x + yy * p.y) / one + shift.y};
}

SOTTO_DECL std::int64_t between(random_stream& random, std::int64_t low, std::int64_t high) {
    return low +
           static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(high - low + 1)));
}

SOTTO_DECL affine random_affine(random_stream& random) {
    constexpr std::int64_t one = affine::one;
    const std::int64_t wide = between(random, 2700, 4700), high = between(random, 3200, 4500);
    const std::int64_t shear = between(random, -1300, 1300);
    const std::int64_t t = between(random, -720, 720);  // 20 degrees either way
    const std::int64_t whole = one * one + t * t;
    const std::int64_t cosine = (one * one - t * t) * one / whole, sine = 2 * t * one * one / whole;
    affine a;
    a.xx = cosine * wide / one;
    a.xy = (cosine * shear / one - sine) * high / one;
    a.yx = sine * wide / one;
    a.yy = (sine * shear / one + cosine) * high / one;
    a.shift.x = pen::side * pen::unit / 2 + between(random, -650, 650);
    a.shift.y = pen::side * pen::unit / 2 + between(random, -550, 550);
    return a;
}

SOTTO_DECL void draw_digit(std::size_t digit, random_stream random, std::uint8_t* pixels) {
    const glyph& shape =
        glyphs[digit][static_cast<std::size_t>(random.below(glyphs[digit].size()))];
    const affine place = random_affine(random);
    const std::int64_t radius = between(random, 60, 230), softness = between(random, 200, 330);
    pen ink{radius, softness};
    for (stroke s : shape) {
        if (s.count == 0) continue;
        for (point& p : s.points) {
            // 7 units of the box are a pixel. The jitter is up to 12 units, mostly less.
            p.x += between(random, -6, 6) + between(random, -6, 6) - 50;
            p.y += between(random, -6, 6) + between(random, -6, 6) - 70;
            p = place({p.x * pen::unit / 7, p.y * pen::unit / 7});
        }
        trace(s, [&](point a, point b) { ink.draw(a, b); });
    }
    const std::int64_t darkness = between(random, 130, 255), noise = between(random, 0, 90);
    for (std::size_t i = 0; i < static_cast<std::size_t>(pen::side * pen::side); ++i) {
        const std::int64_t grain =
            static_cast<std::int64_t>(random() >> 24) * 2 - 255;  // -255 to 255
        const std::int64_t value = ink.ink(i) * darkness / 255 + grain * noise / 255;
        pixels[i] = static_cast<std::uint8_t>(std::clamp<std::int64_t>(value, 0, 255));
    }
}

}  // namespace sotto::detail::data

namespace sotto::data {

SOTTO_DECL labelled_set digits(std::int64_t count, random_stream random) {
    require_option(
        "digits", "count", count,
        detail::allowed::at_least(0).at_most((std::numeric_limits<std::int32_t>::max)()));
    constexpr auto size =
        static_cast<std::size_t>(detail::data::pen::side * detail::data::pen::side);
    std::vector<std::uint8_t> pixels(static_cast<std::size_t>(count) * size);
    std::vector<std::int32_t> labels(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < labels.size(); ++i) {
        random_stream own = random.split(i);
        const auto digit = static_cast<std::size_t>(own.below(10));
        labels[i] = static_cast<std::int32_t>(digit);
        detail::data::draw_digit(digit, own.split("drawing"), pixels.data() + i * size);
    }
    return {{1, detail::data::pen::side, detail::data::pen::side},
            std::move(pixels),
            std::move(labels)};
}

SOTTO_DECL detail::data::train_and_test digits_train_test(std::int64_t train, std::int64_t test,
                                                          random_stream random) {
    return {digits(train, random.split("train")), digits(test, random.split("test"))};
}

}  // namespace sotto::data
