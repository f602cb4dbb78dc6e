#include <arpa/inet.h>
#include <dirent.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "sotto/collectives/all_reduce.hpp"
#include "sotto/collectives/operation.hpp"
#include "sotto/core/random.hpp"
#include "sotto/transports/tcp.hpp"
#include "support/processes.hpp"

using namespace sotto;
using namespace sotto::testing;

namespace {

int connected_to(std::uint16_t port) {
    const int handle = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(port);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(handle, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0) return handle;
    ::close(handle);
    return -1;
}

/// What strangers say: a browser, a probe for TLS, noise, the start of a hello, nothing, and our
/// own first bytes with noise behind them.
std::string greeting(std::uint64_t kind, random_stream& random) {
    const auto noise = [&](std::size_t count) {
        std::string text(count, '\0');
        for (char& c : text) c = static_cast<char>(random.below(256));
        return text;
    };
    switch (kind % 6) {
        case 0: return "GET / HTTP/1.1\r\nHost: rank0\r\n\r\n";
        case 1: return std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11) + noise(506);
        case 2: return noise(8);
        case 3: return "SOLo" + noise(40);
        case 4: return "";
        default: return "SOLo" + noise(300);
    }
}

int open_descriptors() {
    int count = 0;
    DIR* const folder = ::opendir("/proc/self/fd");
    while (::readdir(folder)) ++count;
    ::closedir(folder);
    return count;
}

struct finished {
    bool well = false;
    int descriptors_more = -1;  // than before it joined
};

finished train(tcp_options options, std::unique_ptr<tcp::meeting> first) {
    // The meeting has a listener and a spare, and Asio an epoll, an event and a timer.
    const int before = open_descriptors() - (first ? 5 : 0);
    finished end;
    {
        tcp through = first ? first->join() : tcp::join(options);
        first.reset();
        std::vector<float> values(1000);
        collectives::all_reduce<tcp> sum(through, 1000);
        for (std::uint64_t round = 0; round < 100; ++round) {
            std::fill(values.begin(), values.end(), static_cast<float>(through.rank()));
            sum.start(values, {1, 0, round});
            collectives::run(through, sum);
            if (!through.agree(values[7] == 6.0f)) return end;
        }
        end.well = true;
    }
    end.descriptors_more = open_descriptors() - before;
    return end;
}

}  // namespace

// SOTTO_HOSTILE_CONNECTS sets how many; 2000 by default.
TEST_CASE("with 256 descriptors, strangers by the thousand keep no rank from joining") {
    const char* const asked = std::getenv("SOTTO_HOSTILE_CONNECTS");
    const int connects = asked ? std::atoi(asked) : 2000;
    tcp_options options;
    options.size = 4;
    options.port = 0;
    auto first = std::make_unique<tcp::meeting>(options);
    options.port = first->port();
    std::vector<int> kept;  // silent ones stay, as long as rank 0 lets them
    processes ranks;
    const auto start = [&](int rank) {
        ranks.start([&, rank](auto say) {
            for (const int handle : kept) ::close(handle);  // they are this process's own
            const rlimit few{256, 256};
            ::setrlimit(RLIMIT_NOFILE, &few);
            tcp_options own = options;
            own.rank = rank;
            if (rank != 0) first.reset();
            say(true);
            say(train(own, std::move(first)));
        });
        bool begun = false;
        REQUIRE(ranks.hear(static_cast<std::size_t>(rank), begun));
    };
    start(0);
    first.reset();

    random_stream random(3);
    for (int i = 0; i < connects; ++i) {
        const int handle = connected_to(options.port);
        REQUIRE(handle >= 0);
        const std::string text = greeting(static_cast<std::uint64_t>(i), random);
        (void)!::send(handle, text.data(), text.size(), MSG_NOSIGNAL);
        if (text.empty() && kept.size() < 400)
            kept.push_back(handle);
        else
            ::close(handle);
    }
    for (int rank = 1; rank < 4; ++rank) start(rank);
    for (std::size_t rank = 0; rank < 4; ++rank) {
        finished end;
        REQUIRE(ranks.hear(rank, end));
        CHECK(end.well);
        CHECK(end.descriptors_more == 0);
        const int status = ranks.wait(rank);
        CHECK(WIFEXITED(status));
        CHECK(WEXITSTATUS(status) == 0);
    }
    // The job had closed its door when all were there.
    CHECK(connected_to(options.port) == -1);
    for (const int handle : kept) ::close(handle);
}
