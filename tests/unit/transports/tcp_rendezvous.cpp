#include "sotto/transports/tcp_rendezvous.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <utility>

#include "sotto/core/descriptor.hpp"

using namespace sotto;
using namespace sotto::detail::net;
using namespace std::chrono_literals;

TEST_CASE("tcp_rendezvous: in a child of fork() -> its end waits for no thread") {
    const auto context = std::make_shared<asio::io_context>();
    asio::ip::tcp::acceptor listens(*context, {asio::ip::address_v4::loopback(), 0});
    asio::ip::tcp::socket client(*context);
    client.connect(listens.local_endpoint());
    boost::system::error_code why;
    auto socket = std::make_unique<tcp_socket>(
        context, detail::descriptor(listens.accept().release()), asio::ip::tcp::v4(), why);
    REQUIRE_FALSE(why);

    tcp_options options;
    options.size = 2;
    options.heartbeat = 1h;
    auto met = std::make_unique<tcp_rendezvous>(options);
    met->add(1, std::move(socket), {});  // its thread starts
    const ::pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        ::alarm(60);  // ends a child that waits
        met.reset();
        ::_exit(0);
    }
    int status = 1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
}
