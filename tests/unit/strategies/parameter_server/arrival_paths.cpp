#include "sotto/strategies/parameter_server/arrival_paths.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "sotto/core/errors.hpp"
#include "support/folders.hpp"

using namespace sotto;
using namespace sotto::testing;

TEST_CASE("each server has a file of its own for its order, and each of its processes") {
    CHECK(arrivals_path("r", 0) == "r");
    CHECK(arrivals_path("r", 2) == "r.rank2");
    const scratch_folder folder("arrival_paths_free");
    const auto order = folder.path() / "order";
    CHECK(detail::free_arrivals_path(order) == order);
    std::ofstream{order} << "first";
    CHECK(detail::free_arrivals_path(order) == order.string() + ".2");
}

TEST_CASE("a file that is to be recorded in and followed is found, however it is spelt") {
    const scratch_folder folder("arrival_paths_same");
    const auto order = folder.path() / "order", other = folder.path() / "other";
    std::ofstream{order} << "sotto arrivals 1";
    std::filesystem::create_directory(folder.path() / "inside");
    std::filesystem::create_symlink(order, folder.path() / "symbolic");
    std::filesystem::create_hard_link(order, folder.path() / "hard");
    for (const auto& same :
         {order, folder.path() / "." / "order", folder.path() / "inside" / ".." / "order",
          folder.path() / "symbolic", folder.path() / "hard"}) {
        CAPTURE(same);
        CHECK(shared_arrivals(same, order, 1).has_value());
        CHECK(shared_arrivals(order, same, 1).has_value());
        CHECK_FALSE(shared_arrivals(same, other, 1).has_value());
        CHECK_FALSE(shared_arrivals(other, same, 1).has_value());
    }
    CHECK_FALSE(shared_arrivals({}, order, 1).has_value());
    CHECK_FALSE(shared_arrivals(order, {}, 1).has_value());
    CHECK(shared_arrivals(other, other, 1).has_value());  // neither is there
}

TEST_CASE("the files of other servers are found, too") {
    const scratch_folder folder("arrival_paths_ranks");
    const auto order = folder.path() / "order";
    const std::filesystem::path first = order.string() + ".rank1";
    CHECK(shared_arrivals(order, first, 2).has_value());
    CHECK(shared_arrivals(first, order, 2).has_value());
    CHECK_FALSE(shared_arrivals(order, first, 1).has_value());  // no worker writes it
    CHECK_FALSE(shared_arrivals(order, order.string() + ".rank", 2).has_value());
    CHECK_FALSE(shared_arrivals(order, order.string() + ".rank1x", 2).has_value());
    CHECK_FALSE(shared_arrivals(order, order.string() + ".old", 2).has_value());
    std::ofstream{first} << "sotto arrivals 1";
    std::filesystem::create_hard_link(first, folder.path() / "hard");
    CHECK(shared_arrivals(order, folder.path() / "hard", 2).has_value());
    CHECK_FALSE(shared_arrivals(order, folder.path() / "hard", 1).has_value());
}

TEST_CASE("the error names both options and the file") {
    CHECK_THROWS_WITH_AS(detail::require_arrivals_apart("here/r", "here/./r.rank1", 2),
                         "parameter_server: record_arrivals 'here/r' and replay_arrivals "
                         "'here/./r.rank1' are both of 'here/./r.rank1', which would be emptied "
                         "before it is read; give another file to record in",
                         invalid_option);
    CHECK_NOTHROW(detail::require_arrivals_apart("here/r", "here/s", 2));
}
