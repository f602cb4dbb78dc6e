// expect-error: no matching function for call to 'bytes_of
// A string's memory is a pointer and a length: on another rank it would mean nothing.
#include <span>
#include <string>

#include "sotto/core/bytes.hpp"

sotto::byte_view message(std::span<const std::string> names) {
    return sotto::bytes_of(names);
}
