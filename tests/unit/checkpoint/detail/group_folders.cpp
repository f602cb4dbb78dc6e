#include "sotto/checkpoint/detail/group_folders.hpp"
#include "sotto/checkpoint/detail/posix_files.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <system_error>
#include <vector>

#include "support/folders.hpp"

using namespace sotto::detail::checkpoint;

TEST_CASE("a group's folder is named by its number alone") {
    for (const int group : {0, 1, 10, 2147483647})
        CHECK(
            group_of(std::filesystem::path(group_folder("teachers", group)).filename().string()) ==
            group);
    CHECK(group_folder("teachers", 3) == std::filesystem::path("teachers") / "group-3");
    CHECK(models_folder("teachers", 3) == std::filesystem::path("teachers/group-3/models"));
    for (const char* name : {"group-", "group-01", "group--1", "group-1x", "group-2147483648",
                             "group", "agroup-1", "group-+1", ""})
        CHECK_FALSE(group_of(name));
}

TEST_CASE("groups are found in the order of their numbers, and nothing else is one") {
    const sotto::testing::scratch_folder folder("group_folders");
    for (const char* name : {"group-10", "group-2", "group-0", "group-x", "others"})
        std::filesystem::create_directory(folder.path() / name);
    std::ofstream(folder.path() / "group-1.txt") << "a note";
    posix_files files;
    std::error_code why;
    CHECK(groups_in(files, folder.path(), why) == std::vector<int>{0, 2, 10});
    CHECK_FALSE(why);
    CHECK(groups_in(files, folder.path() / "nowhere", why).empty());
    CHECK(why == std::errc::no_such_file_or_directory);
}
