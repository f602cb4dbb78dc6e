#include "sotto/data/detail/cifar10.hpp"

#include <cstdint>

#include "fuzz/fuzz.hpp"

using sotto::fuzz::require;

// Any bytes are either records with labels below 10 and no byte more, or refused at a place inside
// the file.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using sotto::detail::data::cifar10_records;
    const sotto::byte_view file = sotto::fuzz::input(data, size).rest();
    const auto records = sotto::detail::data::parse_cifar10(file);
    if (!records) {
        const std::int64_t at = records.why().offset, found = records.why().found;
        require(at >= 0 && at <= static_cast<std::int64_t>(size), "faults lie in the file");
        require(at % sotto::detail::data::cifar10_records::record_bytes == 0,
                "faults lie where a record begins");
        const bool cut = static_cast<std::int64_t>(size) - at == found;
        require(cut ? found < sotto::detail::data::cifar10_records::record_bytes
                    : std::to_integer<std::int64_t>(file[static_cast<std::size_t>(at)]) == found,
                "what was found is what the file has there");
        return 0;
    }
    require(records->size() > 0, "there is an image");
    require(records->size() * sotto::detail::data::cifar10_records::record_bytes ==
                static_cast<std::int64_t>(size),
            "all of the file is records");
    const std::byte* next = file.data();
    for (std::int64_t i = 0; i < records->size(); ++i) {
        require(records->label(i) >= 0 &&
                    records->label(i) < sotto::detail::data::cifar10_records::classes,
                "labels are 0 to 9");
        const sotto::byte_view image = records->image(i);
        require(image.data() == ++next, "an image lies behind its label");
        next += image.size();
    }
    require(next == file.data() + size, "the last image ends the file");
    return 0;
}
