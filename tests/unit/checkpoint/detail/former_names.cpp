#include "sotto/checkpoint/detail/former_names.hpp"

#include <doctest/doctest.h>

#include <string>

using sotto::detail::checkpoint::with_current_names;

TEST_CASE("former names: an option's name and a type's value -> today's") {
    CHECK(with_current_names("strategy = all_reduce\nstrategy.group_bytes = 16384\n") ==
          "strategy = all_reduce\nstrategy.bucket_bytes = 16384\n");
    CHECK(with_current_names("strategy.outer = random_pairs") == "strategy.outer = noloco");
}

TEST_CASE("former names: other text, parts of names and today's names -> unchanged") {
    for (const std::string text :
         {"", "\n", "a", "group_bytes", "x.group_bytes.y = 1\n", "x.my_group_bytes = 1",
          "x = group_bytes", "random_pairs = 1\n\n", "x.bucket_bytes = 1\n", "x = noloco", " = "}) {
        CAPTURE(text);
        CHECK(with_current_names(text) == text);
    }
}
