#pragma once

#include <cstddef>
#include <cstdint>

#include "sotto/core/random.hpp"
#include "sotto/data/detail/glyphs.hpp"
#include "sotto/data/labelled_set.hpp"

namespace sotto::detail::data {

/// The transformation of one drawing: fixed point, 4096 is one.
struct affine {
    static constexpr std::int64_t one = 4096;
    std::int64_t xx = one, xy = 0, yx = 0, yy = one;
    point shift{};

    point operator()(point p) const;
};

std::int64_t between(random_stream& random, std::int64_t low, std::int64_t high);

/// Scaled, sheared, turned and moved by random amounts. Rotations come from t = tan(angle / 2),
/// which needs no trigonometry: cos = (1 - t^2) / (1 + t^2), sin = 2 t / (1 + t^2).
affine random_affine(random_stream& random);

void draw_digit(std::size_t digit, random_stream random, std::uint8_t* pixels);

}  // namespace sotto::detail::data

namespace sotto::data {

/// Drawings of the digits 0 to 9, made up on the spot: a data set that needs no file. Each is one
/// of three ways of writing a digit, with a shaky hand, another pen, slant, size, angle and place,
/// and noise.
///   shape   1 x 28 x 28 bytes, 255 is ink; labels in random order, equally likely
///   math    example i depends on the stream and i alone, and on no floating-point rounding: the
///           same on every compiler and machine
///   errors  invalid_option: a negative count
labelled_set digits(std::int64_t count, random_stream random = random_stream{0});

}  // namespace sotto::data

namespace sotto::detail::data {

/// Two sets of the same kind.
struct train_and_test {
    sotto::data::labelled_set train;  // to learn from
    sotto::data::labelled_set test;   // to be judged by
};

}  // namespace sotto::detail::data

namespace sotto::data {

/// Digits to learn from and other digits to be tested with.
detail::data::train_and_test digits_train_test(std::int64_t train, std::int64_t test,
                                               random_stream random = random_stream{0});

}  // namespace sotto::data

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/data/digits.ipp"
#endif
