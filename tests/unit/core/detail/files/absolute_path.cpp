#include "sotto/core/detail/files/absolute_path.hpp"

#include <doctest/doctest.h>

#include <filesystem>

#include "sotto/core/errors.hpp"
#include "support/folders.hpp"

using sotto::detail::absolute_path;

TEST_CASE("required_path: an empty path -> refused by the option's name") {
    CHECK(sotto::detail::required_path("json_lines", "/run/log") == "/run/log");
    CHECK_THROWS_WITH_AS((void)sotto::detail::required_path("json_lines", ""),
                         "json_lines: the path is empty; expected a file's", sotto::invalid_option);
}

TEST_CASE("absolute_path: a relative path -> that of the working directory, an empty one empty") {
    const auto before = std::filesystem::current_path();
    const sotto::testing::scratch_folder scratch("absolute_path");
    std::filesystem::current_path(scratch.path());
    const auto here = std::filesystem::current_path();
    CHECK(absolute_path("run/log") == here / "run/log");
    CHECK(absolute_path("/run/log") == "/run/log");
    CHECK(absolute_path("").empty());
    std::filesystem::remove(scratch.path());
    CHECK(absolute_path("run/log") == "run/log");
    std::filesystem::current_path(before);
}
