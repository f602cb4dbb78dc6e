#include "sotto/transports/detail/tcp/tcp_address.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>

#include "sotto/core/deadline.hpp"
#include "sotto/transports/tcp.hpp"

using namespace sotto;
using namespace sotto::detail::net;
using namespace std::chrono_literals;

namespace {

// The system's resolver knows both for 127.0.1.1, and neither is an address to us: each stands for
// the name of a Debian host in its own /etc/hosts.
constexpr const char* own_name = "0x7f000101";
constexpr const char* own_name_too = "127.0.257";

tcp_options rank_of_four(int rank, const char* address, const char* bind = "") {
    tcp_options options;
    options.rank = rank;
    options.size = 4;
    options.address = address;
    options.bind = bind;
    return options;
}

std::string leader(const tcp_options& options) {
    deadline limit(std::chrono::steady_clock::now(), 1s);
    return find_leader(options, limit).to_string();
}

}  // namespace

TEST_CASE("a host that knows itself by loopback is refused at once, by rank 0 and its neighbours") {
    for (const char* const name : {own_name, own_name_too})
        for (const int rank : {0, 3})
            CHECK_THROWS_WITH_AS(
                leader(rank_of_four(rank, name)),
                ("tcp: rank " + std::to_string(rank) + " finds rank 0, '" + name +
                 "', at 127.0.1.1, which no other machine reaches: choose an interface of this one "
                 "by SOTTO_INTERFACE or tcp_options::bind; if all ranks are on this machine, set "
                 "SOTTO_ADDRESS or tcp_options::address to 127.0.0.1")
                    .c_str(),
                const invalid_option&);
    // Others would be told of loopback by who listens everywhere.
    CHECK_THROWS_AS(leader(rank_of_four(3, own_name, "0.0.0.0")), invalid_option);
    CHECK_THROWS_AS(tcp::meeting(rank_of_four(0, own_name)).port(), invalid_option);
    CHECK_THROWS_AS(tcp::join(rank_of_four(1, own_name)), invalid_option);
}

TEST_CASE("its ranks meet at the address that was chosen for them") {
    for (const int rank : {0, 3})
        CHECK(leader(rank_of_four(rank, own_name, "10.0.0.1")) == "10.0.0.1");
    CHECK(leader(rank_of_four(0, own_name, "0.0.0.0")) == "0.0.0.0");
}

TEST_CASE("an address, a name of loopback and a rank alone are taken as they are") {
    for (const int rank : {0, 3}) {
        CHECK(leader(rank_of_four(rank, "127.0.1.1")) == "127.0.1.1");
        CHECK(leader(rank_of_four(rank, "localhost")) == "127.0.0.1");
        CHECK(leader(rank_of_four(rank, "10.0.0.1")) == "10.0.0.1");
    }
    CHECK(leader(rank_of_four(3, "10.0.0.1", "10.0.0.2")) == "10.0.0.1");
    CHECK(leader(rank_of_four(0, "10.0.0.1", "10.0.0.2")) == "10.0.0.2");
    tcp_options alone = rank_of_four(0, own_name);
    alone.size = 1;
    CHECK(leader(alone) == "127.0.1.1");
}

TEST_CASE("find_leader: IPv6 in brackets, mapped or of a link -> its address") {
    CHECK(leader(rank_of_four(1, "[::1]")) == "::1");
    CHECK(leader(rank_of_four(1, "::ffff:10.0.0.1")) == "10.0.0.1");
    CHECK(leader(rank_of_four(0, "10.0.0.1", "[::1]")) == "::1");
    const std::string loopback = "fe80::1%lo";  // every machine has that interface
    CHECK(leader(rank_of_four(1, ("[" + loopback + "]").c_str())) == loopback);
    CHECK_THROWS_WITH_AS(leader(rank_of_four(1, "fe80::1")),
                         "tcp: the address 'fe80::1' is link-local and has no interface; expected "
                         "one behind it, as in fe80::1%eth0",
                         const invalid_option&);
    CHECK_THROWS_WITH_AS(leader(rank_of_four(1, "[fe80::1%no such]")),
                         "tcp: the address '[fe80::1%no such]' is link-local and this machine has "
                         "no interface 'no such'; expected one that `ip address` lists",
                         const invalid_option&);
}

TEST_CASE("on_link_of: a link-local place -> on the link of the own address") {
    const auto place = [](const char* address) {
        return asio::ip::tcp::endpoint(asio::ip::make_address(address), 7);
    };
    const auto own = asio::ip::make_address("fe80::2%lo");
    CHECK(on_link_of(from_wire(to_wire(place("fe80::1%lo"))), own) == place("fe80::1%lo"));
    CHECK(on_link_of(place("fd00::1"), own) == place("fd00::1"));
    CHECK(on_link_of(place("10.0.0.1"), own) == place("10.0.0.1"));
    CHECK(on_link_of(place("::1"), asio::ip::make_address("127.0.0.1")) == place("::1"));
}

TEST_CASE("is_private: loopback, also mapped into IPv6 -> without a secret") {
    tcp_options options;
    for (const char* const text : {"127.0.0.1", "127.3.2.1", "::1", "::ffff:127.0.0.1"})
        CHECK(is_private(options, asio::ip::make_address(text)));
    for (const char* const text : {"10.0.0.1", "0.0.0.0", "::", "::ffff:10.0.0.1", "fe80::1"})
        CHECK_FALSE(is_private(options, asio::ip::make_address(text)));
    options.insecure_network = true;
    CHECK(is_private(options, asio::ip::make_address("10.0.0.1")));
}
