#pragma once

#include "sotto/data/detail/cifar10.hpp"

#include <cstddef>

#include "sotto/core/config.hpp"

namespace sotto::detail::data {

SOTTO_DECL std::int64_t cifar10_records::size() const noexcept {
    return static_cast<std::int64_t>(file_.size()) / record_bytes;
}

SOTTO_DECL std::int32_t cifar10_records::label(std::int64_t i) const noexcept {
    return std::to_integer<std::int32_t>(record(i)[0]);
}

SOTTO_DECL byte_view cifar10_records::record(std::int64_t i) const noexcept {
    return file_.subspan(static_cast<std::size_t>(i * record_bytes),
                         static_cast<std::size_t>(record_bytes));
}

SOTTO_DECL result<cifar10_records> parse_cifar10(byte_view file) {
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
