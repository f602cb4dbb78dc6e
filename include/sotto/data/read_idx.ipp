#pragma once

#include "sotto/data/read_idx.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sotto/core/config.hpp"
#include "sotto/data/detail/gunzip.hpp"
#include "sotto/data/detail/read_file.hpp"

namespace sotto::data {

SOTTO_DECL result<bytes> unpack_idx(byte_view packed) {
    detail::data::gunzip unpacking{packed};
    std::array<std::byte, 20> start{};
    const auto magic = unpacking.read(std::span(start).first(4));
    if (!magic) return magic.why();
    const std::int64_t rank =
        std::clamp<std::int64_t>(std::to_integer<std::int64_t>(start[3]), 0, 4);
    const auto extents =
        unpacking.read(std::span(start).subspan(4, static_cast<std::size_t>(4 * rank)));
    if (!extents) return extents.why();
    const auto first =
        std::span<const std::byte>(start).first(static_cast<std::size_t>(*magic + *extents));
    const auto header = detail::data::parse_idx_header(first);
    if (!header) return header.why();
    if (header->values / 1032 > static_cast<std::int64_t>(packed.size()))
        return detail::fault{4, "no more values than the packed bytes can hold", header->values};

    bytes all(static_cast<std::size_t>(header->file_bytes()));
    std::copy(first.begin(), first.end(), all.begin());
    const auto values = unpacking.read(std::span(all).subspan(first.size()));
    if (!values) return values.why();
    if (*values != header->values)
        return detail::fault{header->header_bytes + *values, "values, as the header says", *values,
                             header->values};
    const auto end = unpacking.finish();
    if (!end) return end.why();
    return all;
}

SOTTO_DECL result<detail::data::idx_array> parse_idx_file(bytes& file) {
    if (detail::data::is_gzip(file)) {
        auto unpacked = unpack_idx(file);
        if (!unpacked) return unpacked.why();
        file = std::move(*unpacked);
    }
    return detail::data::parse_idx(file);
}

SOTTO_DECL labelled_set read_idx(const std::string& images_path, const std::string& labels_path,
                                 detail::data::byte_scale meaning) {
    bytes image_file = detail::data::read_file(images_path);
    const detail::data::idx_array images = parse_idx_file(image_file).value(images_path);
    const auto& [n, b, c, d] = images.header.extents;
    if (images.header.rank < 3)
        throw malformed(images_path, {3, "rank 3 or 4 for images", images.header.rank});
    const data::labelled_set::example_shape shape =
        images.header.rank == 3 ? data::labelled_set::example_shape{1, b, c}
                                : data::labelled_set::example_shape{b, c, d};
    if (shape.size() == 0) throw malformed(images_path, {8, "images with at least one pixel", 0});

    bytes label_file = detail::data::read_file(labels_path);
    const detail::data::idx_array labels = parse_idx_file(label_file).value(labels_path);
    if (labels.header.rank != 1)
        throw malformed(labels_path, {3, "rank 1 for labels", labels.header.rank});
    if (labels.header.extents[0] != n)
        throw malformed(
            labels_path + " (for the " + std::to_string(n) + " images of " + images_path + ")",
            {4, "labels, one for each image", labels.header.extents[0], n});

    const auto as_number = [](std::byte byte) { return std::to_integer<std::uint8_t>(byte); };
    std::vector<std::uint8_t> pixels(images.values.size());
    std::transform(images.values.begin(), images.values.end(), pixels.begin(), as_number);
    std::vector<std::int32_t> classes(labels.values.size());
    std::transform(labels.values.begin(), labels.values.end(), classes.begin(), as_number);
    return {shape, std::move(pixels), std::move(classes), meaning};
}

}  // namespace sotto::data
