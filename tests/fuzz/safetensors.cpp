#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fuzz/fuzz.hpp"
#include "sotto/checkpoint/detail/file_reader.hpp"
#include "sotto/checkpoint/detail/format_header.hpp"
#include "sotto/checkpoint/detail/parse_header.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/trainer/detail/checkpointing/training_position.hpp"
#include "support/memory_disk.hpp"

using sotto::fuzz::require;
using namespace sotto::detail::checkpoint;

namespace {

void check_header(const file_header& header, std::size_t size) {
    require(header.data_begin >= 8 && header.data_begin <= static_cast<std::int64_t>(size),
            "the header lies in the file");
    std::int64_t end = 0;
    for (const tensor_entry& entry : header.tensors) {
        require(entry.begin == end && entry.end >= entry.begin, "data lie one after another");
        end = entry.end;
        std::int64_t bytes = bytes_of_element(entry.type);
        const bool empty = std::ranges::find(entry.shape, 0) != entry.shape.end();
        if (!empty)
            for (const std::int64_t extent : entry.shape) bytes *= extent;
        require((empty ? 0 : bytes) == entry.size_bytes(), "a shape is as large as its data");
        require(entry.at >= 8 && entry.at < header.data_begin, "names stand in the header");
    }
    require(header.file_bytes() >= header.data_begin, "the file's size does not overflow");
    const entry_index index(header);
    for (std::size_t i = 0; i < header.tensors.size(); ++i)
        require(index.find(header.tensors[i].name) == i, "every name is found");
}

/// What would be believed of where a run was.
void check_place(const file_header& header) {
    sotto::detail::found_place found;
    std::vector<std::int64_t> shares;
    if (!sotto::detail::read_place(header, found, shares).empty()) return;
    const auto bounded = [](std::int64_t count) {
        return count >= 0 && count <= sotto::detail::count_max;
    };
    const auto& place = found.place;
    require(found.world >= 1 && static_cast<std::int64_t>(shares.size()) == 2 * found.world,
            "every old rank has its share");
    require(std::ranges::all_of(shares, bounded) && bounded(place.step) && bounded(place.epoch) &&
                bounded(place.round) && bounded(place.fit) && bounded(place.fit_epochs) &&
                bounded(place.fit_steps) && bounded(place.round * found.world),
            "no count comes near an overflow");
}

bool same(const file_header& a, const file_header& b) {
    return a.metadata == b.metadata &&
           std::ranges::equal(a.tensors, b.tensors,
                              [](const tensor_entry& x, const tensor_entry& y) {
                                  return x.name == y.name && x.type == y.type &&
                                         x.shape == y.shape && x.begin == y.begin && x.end == y.end;
                              });
}

}  // namespace

// Any bytes are either a header whose tensors lie in their data, which is then formatted and parsed
// to the same, or refused at a place inside; a whole file is read only with its digests right,
// which a search takes for granted.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const sotto::byte_view in = sotto::fuzz::input(data, size).rest();
    const auto header = parse_header(in);
    if (!header) {
        require(header.why().offset >= 0 && header.why().offset <= static_cast<std::int64_t>(size),
                "faults lie in the file");
        return 0;
    }
    check_header(*header, size);
    check_place(*header);
    std::optional<sotto::bytes> text;
    try {
        text = format_header(*header);
    } catch (const sotto::invalid_option&) {}  // what is escaped may be longer than it was
    if (text) {
        const auto again = parse_header(*text);
        require(static_cast<bool>(again) && same(*header, *again),
                "what is formatted is parsed to the same");
    }

    sotto::testing::memory_files files;
    auto file = std::make_shared<sotto::testing::memory_disk::file>();
    file->now.assign(in.begin(), in.end());
    files.disk().names["it"] = file;
    try {
        file_reader reader(files, "it");
        require(reader.bytes_read() == static_cast<std::int64_t>(size), "a file has no more");
        for (std::size_t i = 0; i < reader.header().tensors.size(); ++i) {
            sotto::bytes values(static_cast<std::size_t>(reader.header().tensors[i].size_bytes()));
            reader.read(i, values);
        }
    } catch (const damaged&) {}
    return 0;
}
