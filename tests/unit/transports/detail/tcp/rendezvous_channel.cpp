#include "sotto/transports/detail/tcp/rendezvous_channel.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <iterator>
#include <memory>

#include "sotto/core/detail/files/descriptor.hpp"

using namespace sotto;
using namespace sotto::detail::net;
using namespace std::chrono_literals;

namespace {

/// A connection whose other end is silent.
class connection {
public:
    std::unique_ptr<tcp_socket> socket() {
        boost::system::error_code why;
        client_.connect(listens_.local_endpoint());
        auto made = std::make_unique<tcp_socket>(
            context_, detail::descriptor(listens_.accept().release()), asio::ip::tcp::v4(), why);
        REQUIRE_FALSE(why);
        return made;
    }

private:
    std::shared_ptr<asio::io_context> context_ = std::make_shared<asio::io_context>();
    asio::ip::tcp::acceptor listens_{*context_, {asio::ip::address_v4::loopback(), 0}};
    asio::ip::tcp::socket client_{*context_};
};

int threads_of_this_process() {
    const std::filesystem::directory_iterator all("/proc/self/task");
    return static_cast<int>(std::distance(begin(all), end(all)));
}

}  // namespace

TEST_CASE("rendezvous_channel: made before fork(), used in the child -> its thread ends with it") {
    connection with;
    tcp_options options;
    options.size = 2;
    auto met = std::make_unique<rendezvous_channel>(options);
    const ::pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        met->add(1, with.socket(), {});
        const int during = threads_of_this_process();
        met.reset();
        ::_exit(during - threads_of_this_process() == 1 ? 0 : 9);
    }
    int status = 1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
}

TEST_CASE("rendezvous_channel: in a child of fork() -> its end waits for no thread") {
    connection with;
    tcp_options options;
    options.size = 2;
    options.heartbeat = 1h;
    auto met = std::make_unique<rendezvous_channel>(options);
    met->add(1, with.socket(), {});  // its thread starts
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
