#pragma once

#include <cstdint>

#include "sotto/core/bytes.hpp"
#include "sotto/core/result.hpp"

namespace sotto::detail::data {

/// Labelled images of 3 x 32 x 32 bytes, as a view of the file's bytes.
///   wire    one record per image: 1 byte label, then 1024 bytes each of red, green and blue, row
///           by row; no other bytes before, between or after the records
class cifar10_records {
public:
    static constexpr std::int64_t channels = 3, height = 32, width = 32;    // of each image
    static constexpr std::int64_t image_bytes = channels * height * width;  // of one image
    static constexpr std::int64_t record_bytes = 1 + image_bytes;           // label and image
    static constexpr std::int64_t classes = 10;                             // labels are 0 to 9

    /// Number of images.
    std::int64_t size() const noexcept;
    /// Returns the label of image i.
    std::int32_t label(std::int64_t i) const noexcept;
    /// Returns image i: channels x height x width bytes.
    byte_view image(std::int64_t i) const noexcept { return record(i).subspan(1); }

private:
    friend result<cifar10_records> parse_cifar10(byte_view);
    explicit cifar10_records(byte_view file) : file_(file) {}

    byte_view record(std::int64_t i) const noexcept;

    byte_view file_;
};

/// Parses a whole CIFAR-10 binary file: one or more complete records.
///   cost    reads one byte of each record
///   errors  a fault: no record, an incomplete record, a label above 9
///   source  the format of the CIFAR-10 data set of Krizhevsky, Nair and Hinton
result<cifar10_records> parse_cifar10(byte_view file);

}  // namespace sotto::detail::data

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/data/detail/cifar10.ipp"
#endif
