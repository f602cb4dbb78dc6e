#pragma once

#include "sotto/data/read_cifar10.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>

#include "sotto/core/bytes.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/data/detail/cifar10.hpp"
#include "sotto/data/detail/read_file.hpp"

namespace sotto::data {

SOTTO_DECL labelled_set read_cifar10(const std::vector<std::string>& files,
                                     const std::array<detail::data::byte_scale, 3>& meaning) {
    if (files.empty()) throw invalid_option("read_cifar10: no files; expected at least 1");
    std::vector<std::uint8_t> pixels;
    std::vector<std::int32_t> labels;
    for (const std::string& path : files) {
        const bytes file = detail::data::read_file(path);
        const detail::data::cifar10_records records =
            detail::data::parse_cifar10(file).value([&] { return path; });
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
