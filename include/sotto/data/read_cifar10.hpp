#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <utility>
#include <vector>

#include "sotto/core/bytes.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/data/detail/cifar10.hpp"
#include "sotto/data/labelled_set.hpp"
#include "sotto/data/detail/read_file.hpp"

namespace sotto::data {

/// The usual scales of red, green and blue: over the training images of CIFAR-10 each has mean 0
/// and standard deviation 1, to within 0.01.
inline constexpr std::array<detail::data::byte_scale, 3> cifar10_scale{
    {{.mean = 125.3f, .scale = 1.0f / 63.0f},
     {.mean = 123.0f, .scale = 1.0f / 62.1f},
     {.mean = 113.9f, .scale = 1.0f / 66.7f}}};

/// Reads CIFAR-10, or a part of it, from files of its binary version, one after another:
/// `read_cifar10({folder / "data_batch_1.bin", folder / "data_batch_2.bin"})`.
///   shape   images: 3 x 32 x 32;  labels 0 to 9.  The bytes are kept
///   cost    3076 bytes an image;  while reading up to twice that, and a file's bytes
///   errors  invalid_option: no file named;  io_failure: a file that cannot be read;  malformed,
///           naming the file: see parse_cifar10
inline labelled_set read_cifar10(
    const std::vector<std::filesystem::path>& files,
    const std::array<detail::data::byte_scale, 3>& meaning = cifar10_scale) {
    if (files.empty()) throw invalid_option("read_cifar10: no files; expected at least 1");
    std::vector<std::uint8_t> pixels;
    std::vector<std::int32_t> labels;
    for (const std::filesystem::path& path : files) {
        const bytes file = detail::data::read_file(path);
        const detail::data::cifar10_records records =
            detail::data::parse_cifar10(file).value([&] { return path.string(); });
        labels.reserve(labels.size() + static_cast<std::size_t>(records.size()));
        pixels.reserve(
            pixels.size() +
            static_cast<std::size_t>(records.size() * detail::data::cifar10_records::image_bytes));
        for (std::int64_t i = 0; i < records.size(); ++i) {
            labels.push_back(records.label(i));
            std::ranges::transform(records.image(i), std::back_inserter(pixels),
                                   std::to_integer<std::uint8_t>);
        }
    }
    return {{detail::data::cifar10_records::channels, detail::data::cifar10_records::height,
             detail::data::cifar10_records::width},
            std::move(pixels),
            std::move(labels),
            meaning};
}

}  // namespace sotto::data
