#include "sotto/core/detail/text/host_port.hpp"

#include <doctest/doctest.h>

#include <initializer_list>
#include <string>
#include <utility>

using namespace sotto::detail;

TEST_CASE("read_host_port: hosts with and without a port -> both are read") {
    const auto host_of = [](const char* text) {
        const auto read = read_host_port(text);
        return read ? read->host + (read->port ? " port " + std::to_string(*read->port) : "")
                    : std::string("none");
    };
    for (const auto& row : std::initializer_list<std::pair<const char*, const char*>>{
             {"node0", "node0"},
             {"node0:29500", "node0 port 29500"},
             {"10.0.0.1", "10.0.0.1"},
             {"10.0.0.1:1", "10.0.0.1 port 1"},
             {"::1", "::1"},
             {"::", "::"},
             {"[::1]", "::1"},
             {"[::1]:65535", "::1 port 65535"},
             {"fe80::1%eth0", "fe80::1%eth0"},
             {"[fe80::1%eth0]", "fe80::1%eth0"},
             {"[fe80::1%eth0]:29500", "fe80::1%eth0 port 29500"},
             {"a-b_c.example", "a-b_c.example"},
             {"b\xc3\xbc"
              "cher",
              "b\xc3\xbc"
              "cher"},
             {"[::ffff:127.0.0.1]:80", "::ffff:127.0.0.1 port 80"}}) {
        CAPTURE(std::string(row.first));
        CHECK(host_of(row.first) == row.second);
    }
    for (const char* const text : {"",
                                   ":",
                                   ":1",
                                   "[",
                                   "[]",
                                   "[]:1",
                                   "[::1",
                                   "::1]",
                                   "[::1]1",
                                   "[::1]:",
                                   "[::1]:0",
                                   "[::1]:65536",
                                   "[::1]:1x",
                                   "[::1]:+1",
                                   "[::1]]",
                                   "[[::1]]",
                                   "[node0]",
                                   "[10.0.0.1]:1",
                                   "node0:",
                                   "node0:x",
                                   "node0:65536",
                                   "node0:-1",
                                   "node0: 1",
                                   "::1:29500",
                                   "node1,node2",
                                   "node 1",
                                   "a:b:c",
                                   "fe80:%eth0",
                                   "http://node0"}) {
        CAPTURE(std::string(text));
        CHECK(host_of(text) == "none");
    }
}

TEST_CASE("without_brackets: an address in brackets -> the address; else the text") {
    CHECK(without_brackets("[::1]") == "::1");
    CHECK(without_brackets("::1") == "::1");
    CHECK(without_brackets("node0") == "node0");
    CHECK(without_brackets("[::1]:29500") == "[::1]:29500");
    CHECK(without_brackets("[") == "[");
}
