#include <algorithm>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "fuzz/fuzz.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/data/text_set.hpp"
#include "sotto/data/vocabulary.hpp"

using namespace sotto;

namespace {

// Whatever is encoded are the numbers of the same characters; whatever is not has a character that
// the vocabulary has not, and none before it.
bool encodes(const data::vocabulary& known, std::string_view text) {
    const auto absent =
        std::find_if(text.begin(), text.end(), [&](char c) { return !known.contains(c); });
    const auto ids = known.encode(text);
    if (!ids) {
        fuzz::require(absent != text.end(), "a text is refused for a character");
        fuzz::require(ids.why().offset == absent - text.begin(), "it is the first of its kind");
        fuzz::require(ids.why().found == static_cast<unsigned char>(*absent), "and named");
        return false;
    }
    fuzz::require(absent == text.end() && ids->size() == text.size(), "every character is known");
    for (std::size_t i = 0; i < text.size(); ++i)
        fuzz::require(known.character((*ids)[i]) == text[i], "characters come back");
    return true;
}

// A length or a stride: small, or far beyond any text.
std::int64_t number(fuzz::input& in) {
    const auto value = static_cast<std::int64_t>(in.number(1));
    return value < 250 ? value : std::numeric_limits<std::int64_t>::max() - (255 - value);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    fuzz::input in(bytes, size);
    const auto sample = static_cast<std::size_t>(in.number(1));
    const data::text_set::windows windows{number(in), number(in)};
    const byte_view rest = in.rest();
    const std::string_view all(reinterpret_cast<const char*>(rest.data()), rest.size());
    const data::vocabulary known(all.substr(0, std::min(sample, all.size())));
    const std::string_view text = all.substr(std::min(sample, all.size()));
    const bool known_all = encodes(known, text);
    try {
        const data::text_set set(text, known, windows);
        fuzz::require(known_all, "a foreign character is refused");
        fuzz::require(set.size() > 0, "there is a window");
        data::labelled_batch batch;
        const std::vector<std::int64_t> ends{0, set.size() - 1};
        set.gather(ends, batch);
        const auto length = static_cast<std::size_t>(set.length());
        for (std::size_t i = 0; i < length; ++i) {
            const std::size_t last = static_cast<std::size_t>(ends[1] * set.stride()) + i;
            for (const auto& [place, at] : {std::pair{i, i}, std::pair{length + i, last}}) {
                const auto id = static_cast<std::int64_t>(batch.inputs()[place]);
                fuzz::require(known.character(id) == text[at], "a window is that of the text");
                fuzz::require(known.character(batch.labels()[place]) == text[at + 1],
                              "a label is the character behind");
            }
        }
        const auto left = static_cast<std::int64_t>(text.size()) - ends[1] * set.stride();
        fuzz::require(left - set.stride() <= set.length(), "no other window fits");
    } catch (const malformed&) {
        fuzz::require(!known_all, "only a foreign character is malformed");
    } catch (const invalid_option&) {
        fuzz::require(known_all && (windows.length < 1 ||
                                    static_cast<std::uint64_t>(windows.length) >= text.size()),
                      "only a text that holds no window is refused");
    }
    return 0;
}
