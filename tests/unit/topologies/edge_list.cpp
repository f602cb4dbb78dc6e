#include "sotto/topologies/edge_list.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "sotto/core/describe.hpp"
#include "sotto/core/errors.hpp"
#include "support/folders.hpp"

using namespace sotto::topologies;

namespace {

sotto::errc code_of(const std::error_code& code) {
    return static_cast<sotto::errc>(code.value());
}

}  // namespace

TEST_CASE("links without weights weigh by degree, both ways, or share out one way") {
    const edge_list star{{{0, 1}, {0, 2}, {0, 3}}};
    const auto w = star.bind(4).matrix(0);
    CHECK(w.weight(1, 0) == 0.25);
    CHECK(w.weight(0, 3) == 0.25);
    CHECK_NOTHROW(w.require_doubly_stochastic());

    const edge_list away{{{0, 1}, {0, 2}, {1, 2}, {2, 0}}, true};
    const auto p = away.bind(3).matrix(0);
    CHECK(p.weight(1, 0) == doctest::Approx(1.0 / 3));
    CHECK(p.weight(2, 1) == 0.5);
    CHECK(p.weight(0, 1) == 0.0);
    CHECK_NOTHROW(p.require_column_stochastic());
    CHECK_THROWS_AS(p.require_doubly_stochastic(), sotto::invalid_option);
}

TEST_CASE("links with weights have these, and all of them have one or none has") {
    const edge_list two{{{0, 1, 0.3}, {1, 2, 0.2}}};
    const auto w = two.bind(3).matrix(0);
    CHECK(w.weight(0, 1) == 0.3);
    CHECK(w.weight(1, 0) == 0.3);
    CHECK(w.own_weight(1) == doctest::Approx(0.5));
    CHECK_THROWS_WITH(
        (edge_list{{{0, 1, 0.3}, {1, 2}}}.bind(3)),
        "topologies::edge_list: 1 of 2 links have a weight; give it to all of them or "
        "to none");
    CHECK_THROWS_AS((edge_list{{{0, 3}}}.bind(3)), sotto::invalid_option);
}

TEST_CASE("what is described tells weights apart, however small") {
    const auto text = [](double weight) {
        return sotto::detail::description().add("links", edge_list{{{0, 1, weight}}}).text();
    };
    CHECK(text(1e-7) != text(2e-7));
    CHECK(text(0.25) ==
          "links = topologies::edge_list\nlinks.directed = false\n"
          "links.edges = 0-1 0.25\n");
}

TEST_CASE("a link of a file that cannot be is named by file and line") {
    const sotto::testing::scratch_folder folder("edges");
    const auto file = folder.path() / "graph.txt";
    const auto refuses = [&](const std::string& text, int line, const std::string& why) {
        std::ofstream(file) << text;
        for (const bool directed : {false, true})
            CHECK_THROWS_WITH_AS(
                read_edge_list(file, directed).bind(4),
                ("'" + file.string() + "', line " + std::to_string(line) + ": " + why).c_str(),
                sotto::invalid_option);
    };
    refuses("# graph\n0 1\n9 9\n", 3,
            "topology: a link from rank 9 to 9, but there are ranks 0 to 3");
    refuses("0 1 0.25\n\n2 2 nan", 3,
            "topology: the link from rank 2 to 2 has weight nan; it must be finite and at least 0");
    refuses("0 0 -0.5", 1,
            "topology: the link from rank 0 to 0 has weight -0.500000; it must be finite and at "
            "least 0");
    refuses("0 1 0.5\n1 2\n2 3 0.5", 2,
            "no weight, but 2 of 3 links have a weight; give it to all of them or to none");
}

TEST_CASE("a file has a line for each link; what is none is named by its line") {
    const sotto::testing::scratch_folder folder("edges");
    const auto file = folder.path() / "graph.txt";
    const auto write = [&](const std::string& text) { std::ofstream(file) << text; };

    write("# four ranks\n0 1\n\n1,2\r\n  2\t3 # the last\n");
    const edge_list read = read_edge_list(file);
    REQUIRE(read.edges.size() == 3);
    CHECK(read.edges[1].to == 2);
    CHECK(read.edges[2].from == 2);
    CHECK_FALSE(read.edges[0].weight);
    CHECK(read.name() == file.string());  // what errors and logs call it
    CHECK(edge_list{}.name() == "edge_list");

    write("0 1 0.25\n1 2 0.5\n");
    CHECK(read_edge_list(file, true).edges[1].weight == 0.5);
    CHECK(read_edge_list(file, true).directed);

    for (const char* wrong : {"0", "0 x", "0 1 0.5 7", "0.5 1", "0 1 w", "99999999999 1"}) {
        write("0 1\n" + std::string(wrong) + "\n");
        try {
            read_edge_list(file);
            FAIL("read: " << wrong);
        } catch (const sotto::error& e) {
            CHECK(code_of(e.code()) == sotto::errc::malformed);
            CHECK(std::string(e.what()) ==
                  "'" + file.string() +
                      "', line 2: expected two ranks and perhaps a weight, "
                      "found '" +
                      wrong + "'");
        }
    }
    CHECK_THROWS_AS(read_edge_list(folder.path() / "nowhere.txt"), sotto::io_failure);
}

TEST_CASE("read_edge_list: a directory or a FIFO without a writer -> refused, without blocking") {
    const sotto::testing::scratch_folder folder("edges_of_no_file");
    const auto why = [](const std::filesystem::path& path) {
        try {
            read_edge_list(path);
        } catch (const sotto::io_failure& e) {
            return std::string(e.what());
        }
        return std::string();
    };
    const std::string in = "cannot read '" + folder.path().string();
    CHECK(why(folder.path()) == in + "', a list of links: it is a folder; expected a regular file");
    REQUIRE(::mkfifo((folder.path() / "fifo").c_str(), 0600) == 0);
    CHECK(why(folder.path() / "fifo") ==
          in + "/fifo', a list of links: it is a FIFO; expected a regular file");
}
