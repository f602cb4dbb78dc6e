#include "sotto/wire/hello.hpp"

#include "fuzz/fuzz.hpp"
#include "sotto/wire/word.hpp"

using namespace sotto;

// Whatever is accepted is written again as it was, but for the bytes that must be 0 and the digest.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto from = reinterpret_cast<const std::byte*>(data);
    if (size >= wire::hello_bytes)
        if (const auto read = wire::read_hello(from)) {
            const auto again = wire::written_hello(*read);
            const auto same = wire::read_hello(again.data());
            fuzz::require(same && *same == *read, "a hello that was read comes back");
        }
    if (size >= wire::word_bytes)
        if (const auto read = wire::read_word(from)) {
            const auto again = wire::written_word(*read);
            const auto same = wire::read_word(again.data());
            fuzz::require(same && *same == *read, "a word that was read comes back");
        }
    return 0;
}
