#include "sotto/core/absolute_path.hpp"

#include <doctest/doctest.h>

#include <filesystem>

#include "support/folders.hpp"

using sotto::detail::absolute_path;

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
