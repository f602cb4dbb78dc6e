#pragma once

#include <cstddef>
#include <cstdint>

#include "sotto/core/bytes.hpp"
#include "sotto/core/result.hpp"

namespace sotto::detail::data {

/// Labelled images of 3 x 32 x 32 bytes, still in the file's memory.
///   wire    a record for each image: 1 byte label, then 1024 bytes of red, of green and of blue,
///           row by row; nothing before, between or after the records
class cifar10_records {
public:
    static constexpr std::int64_t channels = 3, height = 32, width = 32;    // of every image
    static constexpr std::int64_t image_bytes = channels * height * width;  // of one image
    static constexpr std::int64_t record_bytes = 1 + image_bytes;           // label and image
    static constexpr std::int64_t classes = 10;                             // labels are 0 to 9

    /// Images of the file.
    std::int64_t size() const noexcept {
        return static_cast<std::int64_t>(file_.size()) / record_bytes;
    }
    /// The label of image i, as the file has it.
    std::int32_t label(std::int64_t i) const noexcept {
        return std::to_integer<std::int32_t>(record(i)[0]);
    }
    /// Image i: channels x height x width bytes.
    byte_view image(std::int64_t i) const noexcept { return record(i).subspan(1); }

private:
    friend result<cifar10_records> parse_cifar10(byte_view);
    explicit cifar10_records(byte_view file) : file_(file) {}

    byte_view record(std::int64_t i) const noexcept {
        return file_.subspan(static_cast<std::size_t>(i * record_bytes),
                             static_cast<std::size_t>(record_bytes));
    }

    byte_view file_;
};

/// Reads a whole file of CIFAR-10's binary version: at least one record, and whole ones only.
///   cost    one look at each record
///   errors  a fault: no record, a record cut short, a label above 9
///   source  the format of the CIFAR-10 data set of Krizhevsky, Nair and Hinton
inline result<cifar10_records> parse_cifar10(byte_view file) {
    const cifar10_records all(file);
    const auto size = static_cast<std::int64_t>(file.size());
    const std::int64_t whole = all.size() * cifar10_records::record_bytes;
    if (whole == 0 || whole != size)
        return fault{whole, "a whole record (3073 bytes)", size - whole};
    for (std::int64_t i = 0; i < all.size(); ++i)
        if (all.label(i) >= cifar10_records::classes)
            return fault{i * cifar10_records::record_bytes, "a label of 0 to 9", all.label(i)};
    return all;
}

}  // namespace sotto::detail::data
