#include "sotto/data/read_text.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sotto/core/errors.hpp"
#include "unit/data/files.hpp"

using data_test::folder, data_test::refusal;
using sotto::data::read_text;
using sotto::data::text_set;

namespace {

sotto::byte_view bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text));
}

}  // namespace

TEST_CASE("read_text reads every byte of a file") {
    const folder here;
    const auto path = here.write("text", bytes_of(std::string_view("a\r\n\0b\xff", 6)));
    const text_set text = read_text(path, {.length = 2, .stride = 1});
    CHECK(text.characters() == 6);
    CHECK(text.size() == 4);
    CHECK(text.vocabulary().size() == 6);
    CHECK(text.vocabulary().character(5) == '\xff');
    CHECK(read_text(path, text.vocabulary(), {.length = 3}).length() == 3);
}

TEST_CASE("read_text names the file, the place, what it expected and what it found") {
    const folder here;
    const auto learnt = here.write("learnt", bytes_of("to be or not to be")),
               other = here.write("other", bytes_of("not to do")), empty = here.write("empty", {});
    const text_set text = read_text(learnt, {.length = 2});
    CHECK(refusal([&] { read_text(other, text.vocabulary(), {.length = 2}); }) ==
          other.string() + ": at byte 7 expected a character of the vocabulary, found 100");
    CHECK_THROWS_WITH_AS(read_text(learnt),
                         ("text_set: 18 characters of " + learnt.string() +
                          " from 0 on; expected more than 64, the length of a window")
                             .c_str(),
                         sotto::invalid_option);
    CHECK_THROWS_AS(read_text(empty), sotto::invalid_option);
    CHECK_THROWS_WITH_AS(read_text("/nowhere/text"),
                         "cannot read '/nowhere/text': No such file or directory",
                         sotto::io_failure);
}

TEST_CASE("Tiny Shakespeare is read whole") {
    const char* data = std::getenv("SOTTO_DATA");
    if (data == nullptr) {
        MESSAGE("skipped: SOTTO_DATA is not set to a folder that has tinyshakespeare/");
        return;
    }
    const auto path = std::filesystem::path(data) / "tinyshakespeare" / "input.txt";
    const text_set text = read_text(path, {.length = 64});
    CHECK(text.characters() == 1115394);
    CHECK(text.size() == (1115394 - 65) / 64 + 1);
    std::string characters;
    for (std::int64_t i = 0; i < text.vocabulary().size(); ++i)
        characters += text.vocabulary().character(i);
    CHECK(characters == "\n !$&',-.3:;?ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");
    sotto::data::labelled_batch batch;
    text.gather(std::vector<std::int64_t>{0}, batch);
    std::string start;
    for (const float id : batch.inputs()) start += characters[static_cast<std::size_t>(id)];
    CHECK(start == "First Citizen:\nBefore we proceed any further, hear me speak.\n\nAl");
    const auto [train, validation] = split(text);
    CHECK(train.characters() == 1003854);
    CHECK(validation.characters() == 111540);
}
