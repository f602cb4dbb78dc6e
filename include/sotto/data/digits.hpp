#pragma once

#include <cstddef>
#include <cstdint>

#include "sotto/core/random.hpp"
#include "sotto/data/detail/glyphs.hpp"
#include "sotto/data/labelled_set.hpp"

namespace sotto::detail::data {

/// The affine transformation of one drawing, in fixed point: 4096 is one.
struct affine {
    static constexpr std::int64_t one = 4096;
    std::int64_t xx = one, xy = 0, yx = 0, yy = one;
    point shift{};

    point operator()(point p) const;
};

std::int64_t between(random_stream& random, std::int64_t low, std::int64_t high);

/// Returns a random scaling, shear, rotation and shift. Rotations use t = tan(angle / 2), which
/// avoids trigonometry: cos = (1 - t^2) / (1 + t^2), sin = 2 t / (1 + t^2).
affine random_affine(random_stream& random);

void draw_digit(std::size_t digit, random_stream random, std::uint8_t* pixels);

}  // namespace sotto::detail::data

namespace sotto::data {

/// Generated drawings of the digits 0 to 9: a data set without files. Each drawing is one of three
/// forms of its digit, with random jitter, pen, slant, size, angle, position and noise.
///   shape   1 x 28 x 28 bytes, 255 is ink; labels in random order, equally likely
///   math    example i depends only on the stream and i, and on no floating-point rounding: it is
///           the same on every compiler and machine
///   errors  invalid_option: a negative count
labelled_set digits(std::int64_t count, random_stream random = random_stream{0});

}  // namespace sotto::data

namespace sotto::detail::data {

/// A training set and a test set of the same kind.
struct train_and_test {
    sotto::data::labelled_set train;  // for training
    sotto::data::labelled_set test;   // for tests
};

}  // namespace sotto::detail::data

namespace sotto::data {

/// Returns generated digits for training and other ones for tests.
detail::data::train_and_test digits_train_test(std::int64_t train, std::int64_t test,
                                               random_stream random = random_stream{0});

}  // namespace sotto::data

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/data/digits.ipp"
#endif
