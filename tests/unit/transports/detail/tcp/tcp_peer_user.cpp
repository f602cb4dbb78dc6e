#include "sotto/transports/detail/tcp/tcp_peer_user.hpp"

#include <doctest/doctest.h>
#include <poll.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "support/failing_calls.hpp"
#include "support/processes.hpp"

using namespace sotto;
using namespace sotto::detail::net;

namespace {

using endpoint = asio::ip::tcp::endpoint;

/// Both ends of a connection within this process.
struct connection {
    asio::io_context io;
    asio::ip::tcp::acceptor listens;
    asio::ip::tcp::socket client{io}, server{io};
    endpoint at_client, at_server;

    explicit connection(const char* address) : listens(io, {asio::ip::make_address(address), 0}) {
        client.connect(listens.local_endpoint());
        at_client = client.local_endpoint();
        at_server = client.remote_endpoint();
    }
    void accept() { listens.accept(server); }
};

using look_up = std::function<std::optional<socket_record>(const endpoint&, const endpoint&)>;

void finds_sockets_as_they_are(const look_up& find) {
    for (const char* const address : {"127.0.0.1", "::1", "::ffff:127.0.0.1"}) {
        CAPTURE(std::string(address));
        connection made(address);
        const auto at_client = [&] { return find(made.at_client, made.at_server); };
        const auto at_server = [&] { return find(made.at_server, made.at_client); };
        REQUIRE(at_client());
        CHECK(at_client()->is_in_use());
        CHECK(at_client()->user == ::geteuid());
        REQUIRE(at_server());
        CHECK_FALSE(at_server()->is_in_use());  // nobody has accepted it yet
        made.accept();
        REQUIRE(at_server());
        CHECK(at_server()->is_in_use());
        CHECK(at_server()->user == ::geteuid());
        made.client.close();
        const auto closed = at_client();  // what is left of it is nobody's
        CHECK((!closed || !closed->is_in_use()));
        made.server.close();
        CHECK_FALSE(at_server());
        CHECK_FALSE(find({made.at_client.address(), 1}, made.at_server));
    }
}

bool has_ipv6() {
    asio::io_context io;
    boost::system::error_code why;
    asio::ip::tcp::acceptor six(io);
    six.open(asio::ip::tcp::v6(), why);
    if (!why) six.bind({asio::ip::address_v6::loopback(), 0}, why);
    return !why;
}

}  // namespace

TEST_CASE("socket table: lines of /proc/net/tcp and tcp6 -> user, inode and state") {
    const std::string table =
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  "
        "timeout inode\n"
        "   0: 0100007F:733C 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        "
        "0 20000 1 0000000000000000 100 0 0 10 0\n"
        "   1: 0100007F:C350 0100007F:733C 01 00000000:00000000 00:00000000 00000000  1001        "
        "0 20001 1 0000000000000000 20 4 30 10 -1\n"
        "  12: 0100007F:733C 0100007F:C350 01 00000000:00000000 02:000A7214 00000000     0        "
        "0 0 2 0000000000000000 20 4 30 10 -1\n"
        "  13: 0100007F:C351 0100007F:733C 06 00000000:00000000 03:00001771 00000000     0        "
        "0 0 3 0000000000000000\n"
        "  14: 00000000000000000000000001000000:C350 00000000000000000000000001000000:733C 01 "
        "00000000:00000000 00:00000000 00000000 4294967294        0 18446744073709551615 1\n"
        "  15: 0100007F:C352 0100007F:733C 01 00000000:00000000 00:00000000 00000000  10";
    const auto find = [&](const std::string& own, const std::string& peer) {
        const auto found = find_in_table(table, own, peer);
        return found ? std::to_string(found->user) + " " + std::to_string(found->inode) + " " +
                           std::to_string(found->state) + (found->is_in_use() ? " used" : "")
                     : std::string("none");
    };
    CHECK(find("0100007F:C350", "0100007F:733C") == "1001 20001 1 used");
    CHECK(find("0100007F:733C", "0100007F:C350") == "0 0 1");
    CHECK(find("0100007F:C351", "0100007F:733C") == "0 0 6");
    CHECK(find("0100007F:733C", "00000000:0000") == "1000 20000 10");
    CHECK(find("00000000000000000000000001000000:C350", "00000000000000000000000001000000:733C") ==
          "4294967294 18446744073709551615 1 used");
    CHECK(find("0100007F:C352", "0100007F:733C") == "none");  // the line is cut short
    CHECK(find("0100007F:C353", "0100007F:733C") == "none");
    CHECK_FALSE(find_in_table("", "0100007F:C353", "0100007F:733C"));
    if (std::endian::native != std::endian::little) return;
    const auto written = [](const char* address, bool wide) {
        return end_in_table({asio::ip::make_address(address), 29500}, wide);
    };
    CHECK(written("127.0.0.1", false) == "0100007F:733C");
    CHECK(written("127.0.0.1", true) == "0000000000000000FFFF00000100007F:733C");
    CHECK(written("::1", true) == "00000000000000000000000001000000:733C");
    CHECK(written("2001:db8::1:2", true) == "B80D0120000000000000000002000100:733C");
}

TEST_CASE("socket tables: sockets of this process -> found as they are") {
    if (::access("/proc/net/tcp", R_OK) != 0 || !has_ipv6()) {
        MESSAGE("skipped: there is no /proc/net/tcp or no IPv6");
        return;
    }
    finds_sockets_as_they_are(find_in_tables);
}

TEST_CASE("socket diagnosis: sockets of this process -> found as they are") {
    socket_diagnosis kernel;
    connection probe("127.0.0.1");
    if (!kernel.find(probe.at_client, probe.at_server) || !has_ipv6()) {
        MESSAGE("skipped: the kernel has no socket diagnosis or no IPv6");
        return;
    }
    finds_sockets_as_they_are(
        [&](const endpoint& own, const endpoint& peer) { return kernel.find(own, peer); });
    // There is a socket that listens at this end, and none that has the other one.
    CHECK_FALSE(kernel.find(probe.at_server, {asio::ip::make_address("127.0.0.2"), 0}));
}

TEST_CASE("peer_users: a connection that was reset -> gone, at both ends") {
    for (const bool resets_server : {true, false}) {
        CAPTURE(resets_server);
        connection made("127.0.0.1");
        made.accept();
        auto& stays = resets_server ? made.client : made.server;
        auto& resets = resets_server ? made.server : made.client;
        boost::system::error_code why;
        tcp_socket here(std::make_shared<asio::io_context>(),
                        detail::descriptor(::dup(stays.native_handle())), asio::ip::tcp::v4(), why);
        REQUIRE_FALSE(why);
        peer_users users;
        CHECK(users.find(here).whose == peer_user::own);
        resets.set_option(asio::socket_base::linger(true, 0));
        resets.close();
        pollfd ended{here.handle(), POLLIN, 0};
        REQUIRE(::poll(&ended, 1, 60'000) == 1);
        CHECK_FALSE(here.remote_place());
        CHECK(users.find(here).whose == peer_user::gone);
    }
}

TEST_CASE("peer_users: own process, another user's, none -> told apart") {
    peer_users users;
    connection made("127.0.0.1");
    made.accept();
    CHECK(users.find(made.at_server, made.at_client).whose == peer_user::own);
    CHECK(users.find(made.at_client, made.at_server).whose == peer_user::own);
    made.client.close();
    CHECK(users.find(made.at_server, made.at_client).whose == peer_user::gone);
    made.server.close();
    CHECK(users.find(made.at_server, made.at_client).whose == peer_user::unknown);
}

TEST_CASE("peer_users: a process of another user -> its user, by either way") {
    if (::geteuid() != 0) {
        MESSAGE("skipped: only root becomes another user");
        return;
    }
    for (const bool asks_kernel : {true, false}) {
        if (!asks_kernel && !support::failing_calls::works) continue;
        CAPTURE(asks_kernel);
        asio::io_context io;
        asio::ip::tcp::acceptor listens(io, {asio::ip::address_v4::loopback(), 0});
        testing::processes others;
        others.start([&](auto say) {
            REQUIRE(::setuid(1234) == 0);
            asio::ip::tcp::socket client(io);
            client.connect(listens.local_endpoint());
            say(true);
            char nothing = 0;
            boost::system::error_code ended;
            client.read_some(asio::buffer(&nothing, 1), ended);
        });
        bool connected = false;
        REQUIRE(others.hear(0, connected));
        asio::ip::tcp::socket server = listens.accept();
        const support::failing_calls no_socket(asks_kernel ? -1 : 0);
        peer_users users;
        const auto found = users.find(server.local_endpoint(), server.remote_endpoint());
        CHECK(found.whose == peer_user::other);
        CHECK(found.user == 1234);
    }
}

TEST_CASE("users_are_told_apart: overflow user of a namespace -> no; else yes") {
    CHECK(users_are_told_apart(0));
    CHECK(users_are_told_apart(1000));
    testing::processes apart;
    struct answer {
        bool is_apart = false, told = true;
    };
    apart.start([](auto say) {
        const bool is_apart = ::unshare(CLONE_NEWUSER) == 0;
        say(answer{is_apart, users_are_told_apart(65534)});
    });
    answer found;
    REQUIRE(apart.hear(0, found));
    if (found.is_apart)
        CHECK_FALSE(found.told);
    else
        MESSAGE("skipped: this user makes no user namespaces");
}
