#include "sotto/data/read_idx.hpp"

#include "fuzz/fuzz.hpp"
#include "sotto/core/bytes.hpp"

using sotto::fuzz::require;

// Any bytes, packed by gzip or not, are either an array that is as long as it says, or refused at a
// place inside the file.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const sotto::byte_view in = sotto::fuzz::input(data, size).rest();
    sotto::bytes file(in.begin(), in.end());
    const auto array = sotto::data::parse_idx_file(file);
    if (!array) {
        const std::int64_t longest = 1032 * static_cast<std::int64_t>(size) + 20;  // unpacked
        require(array.why().offset >= 0 && array.why().offset <= longest, "faults lie in the file");
        return 0;
    }
    std::int64_t product = 1;
    for (const std::int64_t extent : array->header.extents) product *= extent;
    require(product == array->header.values, "values is the product of the extents");
    require(static_cast<std::int64_t>(array->values.size()) == product, "all values are there");
    require(array->header.file_bytes() == static_cast<std::int64_t>(file.size()), "and no more");
    require(array->values.data() + array->values.size() == file.data() + file.size(),
            "the values are those of the file");
    return 0;
}
