#include "sotto/launch/detail/node_list.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace sotto;
using sotto::detail::launch::expand_node_list;

using hosts = std::vector<std::string>;

TEST_CASE("lists of nodes as Slurm writes them") {
    CHECK(expand_node_list("login") == hosts{"login"});
    CHECK(expand_node_list("a,b-1,c") == hosts{"a", "b-1", "c"});
    CHECK(expand_node_list("gnode[10,20-22]") == hosts{"gnode10", "gnode20", "gnode21", "gnode22"});
    CHECK(expand_node_list("a[1-2]b[01-03]") ==
          hosts{"a1b01", "a1b02", "a1b03", "a2b01", "a2b02", "a2b03"});
    CHECK(expand_node_list("n[08-11]x,m") == hosts{"n08x", "n09x", "n10x", "n11x", "m"});
    CHECK(expand_node_list("n[5]") == hosts{"n5"});
}

TEST_CASE("what is no such list is refused by the character that is wrong") {
    for (const char* const bad : {"", ",", "a,", "n[", "n[]", "n[1", "n[1-", "n[2-1]", "n[1-x]",
                                  "n]", "n[1;2]", "n[1-99999999]", "n[0-65535][0-65535]",
                                  "n[1-40000,1-40000]", "n[99999999999999999999]"}) {
        CAPTURE(bad);
        CHECK_THROWS_AS((void)expand_node_list(bad), invalid_option);
    }
    CHECK_THROWS_WITH_AS((void)expand_node_list("n[1;2]"),
                         "launch: the list of nodes 'n[1;2]': expected ',', '-' or ']' at "
                         "character 3",
                         const invalid_option&);
}
