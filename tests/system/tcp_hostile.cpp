#include <dirent.h>
#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sotto/checkpoint/detail/digest.hpp"
#include "sotto/models.hpp"
#include "sotto/sotto.hpp"
#include "sotto/transports/tcp.hpp"
#include "sotto/transports/tcp_tls.hpp"
#include "support/processes.hpp"
#include "support/strangers.hpp"

using namespace sotto;
using namespace sotto::testing;
using namespace std::chrono_literals;

namespace {

constexpr int ranks = 4;

int open_descriptors() {
    int count = 0;
    DIR* const folder = ::opendir("/proc/self/fd");
    while (::readdir(folder)) ++count;
    ::closedir(folder);
    return count;
}

/// Trains for a few steps; the digest of the parameters.
detail::checkpoint::digest train(auto& transport) {
    const auto digits = data::digits(400, random_stream{1});
    models::mlp model{784, 32, 10};
    trainer learner{model,
                    all_reduce{sgd{.learning_rate = 0.1},
                               dgc{.density = 0.01, .momentum = 0.9, .warm_up_epochs = 1}},
                    transport};
    learner.fit(digits, epochs{5});
    return detail::checkpoint::digest_of(std::as_bytes(std::span(learner.parameters())));
}

/// What became of a rank.
struct finished {
    detail::checkpoint::digest learnt{};
    int descriptors_more = -1;  // than before it joined, its listener apart
};

/// What became of the strangers.
struct tally {
    std::int64_t knocks = 0, answered = 0;
};

std::int64_t knocks_asked_for() {
    const char* const asked = std::getenv("SOTTO_HOSTILE_CONNECTS");
    return asked ? std::atoll(asked) : 2000;
}

/// A job whose ranks come one by one while strangers knock at the ports of all, until it is over.
void train_among_strangers(std::shared_ptr<const detail::tcp_security> secret,
                           std::shared_ptr<const detail::tcp_security> wrong) {
    const std::int64_t knocks = knocks_asked_for();
    std::array<loopback_socket, ranks> listeners;
    std::vector<std::uint16_t> ports;
    for (loopback_socket& l : listeners) REQUIRE(ports.emplace_back(l.listen()) != 0);
    tcp_options options;
    options.size = ranks;
    options.port = ports[0];
    options.security = secret;
    options.join = 5min;
    options.dead_after = 10s;  // a busy machine keeps threads waiting

    shared_flag over;
    processes all;  // the strangers, and rank r at r + 1
    all.start([&](auto say) {
        for (loopback_socket& l : listeners) l.close();
        rlimit many{};
        ::getrlimit(RLIMIT_NOFILE, &many);
        many.rlim_cur = std::min<rlim_t>(many.rlim_max, 4096);
        ::setrlimit(RLIMIT_NOFILE, &many);
        strangers crowd(ports, wrong);
        tally sum;
        int parts = 0;
        while (sum.knocks < knocks || !over.is_set()) {
            sum.answered += crowd.knock();
            ++sum.knocks;
            if (parts < ranks - 1 && sum.knocks * (ranks - 1) >= (parts + 1) * knocks) {
                ++parts;
                say(true);  // the next rank may come
            }
        }
        say(sum);
    });
    for (int rank = 0; rank < ranks; ++rank) {
        bool part_is_over = false;
        if (rank != 0) REQUIRE(all.hear(0, part_is_over));
        all.start([&](auto say) {
            for (loopback_socket& l : listeners)
                if (&l != &listeners[static_cast<std::size_t>(rank)]) l.close();
            const rlimit few{256, 256};
            ::setrlimit(RLIMIT_NOFILE, &few);
            const int before = open_descriptors();
            tcp_options own = options;
            own.rank = rank;
            own.listener = listeners[static_cast<std::size_t>(rank)].handle();
            finished end;
            {
                tcp transport = tcp::join(own);
                end.learnt = train(transport);
            }
            end.descriptors_more = open_descriptors() - (before - 1);
            say(end);
        });
        listeners[static_cast<std::size_t>(rank)].close();
    }

    std::array<finished, ranks> ends;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        CAPTURE(rank);
        REQUIRE(all.hear(rank + 1, ends[rank]));
        CHECK(ends[rank].descriptors_more == 0);
        const int status = all.wait(rank + 1);
        CHECK(WIFEXITED(status));
        CHECK(WEXITSTATUS(status) == 0);
    }
    over.set();
    tally sum;
    REQUIRE(all.hear(0, sum));
    CHECK(sum.knocks >= knocks);
    CHECK(sum.answered >= knocks / 10 * 9);
    MESSAGE(sum.knocks << " knocks, " << sum.answered << " answered");
    // The job had closed its doors when all were there.
    for (const std::uint16_t port : ports) CHECK_FALSE(loopback_socket().connect(port));

    detail::checkpoint::digest expected{};
    run_in_process(ranks, [&](auto& transport) {
        const detail::checkpoint::digest learnt = train(transport);
        if (transport.rank() == 0) expected = learnt;
    });
    for (const finished& end : ends) CHECK(end.learnt == expected);
}

std::shared_ptr<const detail::tcp_security> secret_of(char letter) {
    return pre_shared_key::from_text(std::string(64, letter), "a test");
}

}  // namespace

// SOTTO_HOSTILE_CONNECTS sets how many strangers there are at least; 2000 by default.
TEST_CASE("with 256 descriptors, strangers at every port keep no rank from joining and training") {
    train_among_strangers(nullptr, nullptr);
}

TEST_CASE("nor do they where a secret keeps them out, some with a secret of their own") {
    train_among_strangers(secret_of('a'), secret_of('b'));
}
