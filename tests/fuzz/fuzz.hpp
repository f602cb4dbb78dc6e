#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>

#include "sotto/core/bytes.hpp"

// Every target is one file that defines this function, by its name in libFuzzer. Linked with
// libFuzzer it searches; linked with replay.cpp it runs over files.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace sotto::fuzz {

/// Ends the program, as a sanitizer would, if a promise does not hold for the input at hand.
inline void require(bool holds, const char* promise) {
    if (holds) return;
    std::fprintf(stderr, "broken promise: %s\n", promise);
    std::abort();
}

/// The input, taken from the front piece by piece; nothing but zeros after its end.
class input {
public:
    input(const std::uint8_t* data, std::size_t size)
        : left_(std::as_bytes(std::span(data, size))) {}

    std::uint64_t number(std::size_t bytes) {
        std::uint64_t value = 0;
        for (std::size_t i = 0; i < bytes && !left_.empty(); ++i, left_ = left_.subspan(1))
            value |= std::to_integer<std::uint64_t>(left_[0]) << (8 * i);
        return value;
    }

    byte_view rest() const { return left_; }

private:
    byte_view left_;
};

/// From one byte: a tensor's size, small or at the edge of what indices can number.
inline std::int64_t tensor_size(input& in) {
    const auto choice = in.number(1);
    if (choice < 200) return static_cast<std::int64_t>(choice);
    if (choice < 240) return std::int64_t{1} << (choice - 200);
    if (choice < 248) return (std::int64_t{1} << 32) + static_cast<std::int64_t>(choice) - 244;
    return static_cast<std::int64_t>(in.number(3));
}

}  // namespace sotto::fuzz
