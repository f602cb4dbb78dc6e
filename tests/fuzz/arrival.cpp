#include "sotto/strategies/detail/parameter_server/arrival.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "fuzz/fuzz.hpp"

using namespace sotto;

// A line that is accepted is written again as it was; another one is refused at a byte of it.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view line(reinterpret_cast<const char*>(data), size);
    if (const auto read = detail::read_arrival(line))
        fuzz::require(text_of(*read) == line, "a line that was read is written again as it was");
    else
        fuzz::require(
            read.why().offset >= 0 && read.why().offset <= static_cast<std::int64_t>(size) + 1,
            "a fault is within the line");
    return 0;
}
