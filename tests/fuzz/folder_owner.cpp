#include "sotto/checkpoint/detail/folder_owner.hpp"
#include "sotto/core/printable.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz/fuzz.hpp"

using namespace sotto;

// What is read as an owner is written as a text that is read as the same owner.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto read = sotto::detail::checkpoint::read_owner(text);
    if (!read) return 0;
    fuzz::require(!sotto::detail::checkpoint::is_foreign(text), "what names an owner is sotto's");
    const auto again =
        sotto::detail::checkpoint::read_owner(sotto::detail::checkpoint::owner_text(*read));
    fuzz::require(again.has_value(), "what was read can be written");
    fuzz::require(again->process.id == read->process.id, "the process stays the same");
    const std::string shown = printable(read->job);
    fuzz::require(again->job == shown, "the job's name is escaped once");
    return 0;
}
