#include "sotto/data/text_set.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/core/result.hpp"
#include "sotto/data/dataset.hpp"
#include "support/allocation_count.hpp"

using sotto::data::labelled_batch;
using sotto::data::text_set;
using sotto::data::vocabulary;
using indices = std::vector<std::int64_t>;

static_assert(sotto::dataset<text_set>);

namespace {

/// The characters that a batch holds, and those that are its labels.
std::string read(const text_set& text, const labelled_batch& batch) {
    std::string characters;
    for (const float id : batch.inputs())
        characters += text.vocabulary().character(static_cast<std::int64_t>(id));
    return characters;
}
std::string next(const text_set& text, const labelled_batch& batch) {
    std::string characters;
    for (const std::int32_t id : batch.labels()) characters += text.vocabulary().character(id);
    return characters;
}

}  // namespace

TEST_CASE("an example is a window of the text, and its labels are the characters behind each") {
    const text_set text("so low a voice", {.length = 4});
    CHECK(text.characters() == 14);
    CHECK(text.length() == 4);
    CHECK(text.stride() == 4);
    CHECK(text.size() == 3);
    labelled_batch batch;
    text.gather(indices{2, 0}, batch);
    CHECK(batch.size() == 2);
    CHECK(batch.width() == 4);
    CHECK(batch.labels().size() == 8);
    CHECK(read(text, batch) == " voiso l");
    CHECK(next(text, batch) == "voico lo");
    text.gather({}, batch);
    CHECK(batch.inputs().empty());
    CHECK(batch.labels().empty());
}

TEST_CASE("there are as many windows as fit, at every length and stride") {
    std::string whole;
    for (int i = 0; i < 40; ++i) whole += static_cast<char>('0' + i);
    labelled_batch batch;
    for (std::size_t n = 2; n <= whole.size(); ++n)
        for (std::int64_t length = 1; length < static_cast<std::int64_t>(n); ++length)
            for (std::int64_t stride : {1, 2, 3, 7, 100}) {
                const text_set text(std::string_view(whole).substr(0, n),
                                    {.length = length, .stride = stride});
                std::int64_t fit = 0;
                for (std::int64_t at = 0; at + length < static_cast<std::int64_t>(n); at += stride)
                    ++fit;
                REQUIRE(text.size() == fit);
                text.gather(indices{fit - 1}, batch);
                const auto first = static_cast<std::size_t>((fit - 1) * stride);
                REQUIRE(read(text, batch) == whole.substr(first, static_cast<std::size_t>(length)));
                REQUIRE(next(text, batch) ==
                        whole.substr(first + 1, static_cast<std::size_t>(length)));
            }
    CHECK(
        text_set("ab", {.length = 1, .stride = std::numeric_limits<std::int64_t>::max()}).size() ==
        1);
}

TEST_CASE("the windows of a text by its length leave no character unread but the last ones") {
    const text_set text("abcdefghijk", {.length = 3});
    labelled_batch batch;
    text.gather(indices{0, 1, 2}, batch);
    CHECK(read(text, batch) == "abcdefghi");
    CHECK(next(text, batch) == "bcdefghij");
}

TEST_CASE("split cuts a text in two by position; both parts keep the whole one's vocabulary") {
    std::optional<text_set> text(std::in_place, "abcdefghijklmnopqrst",
                                 sotto::data::text_set::windows{.length = 2, .stride = 1});
    const auto [train, validation] = split(*text, 0.75);
    text.reset();  // the parts share its memory
    CHECK(train.characters() == 15);
    CHECK(validation.characters() == 5);
    CHECK(train.size() == 13);
    CHECK(validation.size() == 3);
    CHECK(validation.vocabulary() == train.vocabulary());
    CHECK(train.vocabulary().size() == 20);
    labelled_batch batch;
    train.gather(indices{12}, batch);
    CHECK(next(train, batch) == "no");
    validation.gather(indices{0}, batch);
    CHECK(read(validation, batch) == "pq");
    CHECK(batch.inputs()[0] == 15.0f);
    const text_set inner = validation.part(1, 3);
    inner.gather(indices{0}, batch);
    CHECK(read(inner, batch) == "qr");
    CHECK(inner.size() == 1);
}

TEST_CASE("another text can be read with a vocabulary that is known") {
    const text_set learnt("the quick brown fox", {.length = 3});
    const text_set other("with", vocabulary("thwiz"), {.length = 3});
    labelled_batch batch;
    other.gather(indices{0}, batch);
    CHECK(batch.inputs()[0] == 3.0f);
    CHECK(batch.labels()[0] == 1);
    CHECK_THROWS_WITH_AS(
        text_set("he ran", learnt.vocabulary(), {.length = 3}, "the other"),
        "the other: at byte 4 expected a character of the vocabulary, found 97",  // r is in brown
        sotto::malformed);
}

TEST_CASE("gather takes no memory once the largest batch was seen") {
    const text_set text("so low a voice", {.length = 4});
    labelled_batch batch;
    const indices many{0, 1, 2}, few{2};
    text.gather(many, batch);
    const support::allocation_count allocations;
    text.gather(few, batch);
    text.gather(many, batch);
    CHECK(allocations.on_this_thread() == 0);
}

TEST_CASE("a text set refuses what cannot work") {
    CHECK_THROWS_WITH_AS(text_set("0123456789", {.length = 10}, "ten"),
                         "text_set: 10 characters of ten from 0 on; expected more than 10, the "
                         "length of a window",
                         sotto::invalid_option);
    CHECK(text_set("0123456789", {.length = 9}).size() == 1);
    CHECK_THROWS_AS(text_set("", {.length = 1}), sotto::invalid_option);
    CHECK_THROWS_AS(text_set("ab", {.length = std::numeric_limits<std::int64_t>::max()}),
                    sotto::invalid_option);
    CHECK_THROWS_WITH_AS(text_set("0123456789", {.length = 0}),
                         "text_set: length is 0; it must be at least 1", sotto::invalid_option);
    CHECK_THROWS_WITH_AS(text_set("0123456789", {.length = 1, .stride = -1}),
                         "text_set: stride is -1; it must be at least 0, where 0 is the length",
                         sotto::invalid_option);
    const text_set text("0123456789", {.length = 3});
    labelled_batch batch;
    CHECK(text.size() == 3);
    CHECK_THROWS_WITH_AS(text.gather(indices{0, 3}, batch),
                         "text_set: asked for example 3; expected 0 to 3 exclusive",
                         sotto::invalid_option);
    CHECK_THROWS_AS(text.gather(indices{-1}, batch), sotto::invalid_option);
    CHECK_THROWS_WITH_AS(text.part(4, 7),
                         "text_set: asked for 7 characters of text from 4 on; there are 10",
                         sotto::invalid_option);
    CHECK_THROWS_AS(text.part(-1, 5), sotto::invalid_option);
    CHECK_THROWS_AS(text.part(11, 0), sotto::invalid_option);
    CHECK_THROWS_AS(text.part(1, std::numeric_limits<std::int64_t>::max()), sotto::invalid_option);
    CHECK_THROWS_WITH_AS(text.part(6, 3),
                         "text_set: 3 characters of text from 6 on; expected more than 3, the "
                         "length of a window",
                         sotto::invalid_option);
    for (const double share : {0.0, 1.0, -0.5, 2.0, std::numeric_limits<double>::quiet_NaN()})
        CHECK_THROWS_AS(split(text, share), sotto::invalid_option);
    CHECK_THROWS_AS(split(text, 0.9), sotto::invalid_option);  // one character to be validated with
}
