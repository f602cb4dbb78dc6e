#pragma once

#include <array>
#include <string>
#include <vector>

#include "sotto/data/labelled_set.hpp"

namespace sotto::data {

/// The usual scales of red, green and blue: over the training images of CIFAR-10 each has mean 0
/// and standard deviation 1, to within 0.01.
inline constexpr std::array<detail::data::byte_scale, 3> cifar10_scale{
    {{.mean = 125.3f, .scale = 1.0f / 63.0f},
     {.mean = 123.0f, .scale = 1.0f / 62.1f},
     {.mean = 113.9f, .scale = 1.0f / 66.7f}}};

/// Reads CIFAR-10, or a part of it, from one or more files of its binary version:
/// `read_cifar10({folder / "data_batch_1.bin", folder / "data_batch_2.bin"})`.
///   shape   images: 3 x 32 x 32;  labels 0 to 9.  Pixels stay bytes in memory
///   cost    3076 bytes per image;  while reading up to twice that, plus the bytes of one file
///   errors  invalid_option: no file named;  io_failure: a file that cannot be read;  malformed,
///           naming the file: see parse_cifar10
labelled_set read_cifar10(const std::vector<std::string>& files,
                          const std::array<detail::data::byte_scale, 3>& meaning = cifar10_scale);

}  // namespace sotto::data

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/data/read_cifar10.ipp"
#endif
