// The process of a rank forks, as the callback of a user may. The child unwinds through its copies
// of the job's objects: the parent's job goes on, and the child ends.

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <vector>

#include "sotto/collectives/all_reduce.hpp"
#include "sotto/collectives/detail/operation.hpp"
#include "sotto/core/detail/processes/owner_process.hpp"
#include "sotto/kernels/thread_team.hpp"
#include "sotto/transports/fail_with_exception.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "sotto/transports/tcp.hpp"
#include "support/processes.hpp"

using namespace sotto;
using namespace sotto::testing;

namespace {

constexpr unsigned child_ends_within = 60;  // seconds: a child that hangs is killed

/// Forks. The child throws std::domain_error; returns how it ended, as waitpid reports it.
int fork_and_throw() {
    const ::pid_t child = ::fork();
    if (child == 0) {
        ::alarm(child_ends_within);
        throw std::domain_error("in a child");
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    return status;
}

enum class way : std::uint8_t { unwinds, fails, withdraws };

/// Work of a rank. Rank 0 forks while messages of its own are under way. Whether all was right.
bool take_part(tcp& through, way leaves) {
    const int other = 1 - through.rank();
    std::vector<std::byte> out(300000, std::byte{7}), in(300000);
    const request sent = through.send(other, {20, 0, 0}, out);
    const request received = through.receive(other, {20, 0, 0}, in);
    bool right = true;
    if (through.rank() == 0) {
        try {
            const int status = fork_and_throw();
            right = WIFEXITED(status) && WEXITSTATUS(status) == 7;
        } catch (const std::domain_error&) {
            if (leaves == way::fails) fail_with_exception(through);
            if (leaves == way::withdraws) through.withdraw();
            throw;
        }
    }
    through.wait(sent);
    through.wait(received);
    right = right && in == out;
    std::vector<float> values(20000, 1.0f);
    detail::collectives::all_reduce sum(through, 20000);
    for (std::uint64_t round = 0; round < 10; ++round) {
        values.assign(values.size(), 1.0f);
        sum.start(values, {21, 0, round});
        detail::collectives::run(through, sum);
        through.agree(true);
        right = right && values == std::vector<float>(values.size(), 2.0f);
    }
    return right;
}

}  // namespace

TEST_CASE("fork: a child unwinds through tcp -> the job of the parent goes on") {
    for (const bool elastic : {false, true})
        for (const way leaves : {way::unwinds, way::fails, way::withdraws}) {
            CAPTURE(elastic);
            CAPTURE(static_cast<int>(leaves));
            tcp_options options;
            options.size = 2;
            options.port = 0;
            options.elastic = elastic;
            auto first = std::make_unique<tcp::meeting>(options);
            options.port = first->port();
            processes ranks;
            for (int rank = 0; rank < 2; ++rank)
                ranks.start([&, rank](auto say) {
                    tcp_options own = options;
                    own.rank = rank;
                    if (rank != 0) first.reset();
                    try {
                        tcp endpoint = rank == 0 ? first->join() : tcp::join(own);
                        say(take_part(endpoint, leaves));
                    } catch (const std::domain_error&) {
                        ::_exit(7);  // the child
                    }
                });
            first.reset();
            for (std::size_t rank = 0; rank < 2; ++rank) {
                bool right = false;
                CHECK(ranks.hear(rank, right));
                CHECK(right);
                const int status = ranks.wait(rank);
                CHECK(WIFEXITED(status));
                CHECK(WEXITSTATUS(status) == 0);
            }
        }
}

TEST_CASE("fork: a child unwinds through run_in_process -> both end as they should") {
    const detail::owner_process parent;
    int status = -1;
    try {
        run_in_process(4, [&](in_process& through) {
            through.agree(true);
            std::int32_t value = 0;
            const auto memory = std::as_writable_bytes(std::span(&value, 1));
            if (through.rank() == 0) {
                status = fork_and_throw();
                value = 5;
                for (int other = 1; other < 3; ++other)
                    through.wait(through.send(other, {20, 0, 0}, memory));
            } else if (through.rank() < 3) {
                through.wait(through.receive(0, {20, 0, 0}, memory));
                CHECK(value == 5);
            }
            CHECK(through.agree(true));
        });
    } catch (const std::domain_error&) {
        ::_exit(parent.is_this() ? 8 : 7);
    }
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 7);
}

TEST_CASE("fork: a child destroys a team of threads -> it does not wait for them") {
    kernels::thread_team team(3);
    std::vector<int> done(3, 0);
    team.run([&](int member) { done[static_cast<std::size_t>(member)] = 1; });
    const ::pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        ::alarm(child_ends_within);
        team.~thread_team();
        ::_exit(7);
    }
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 7);
    team.run([&](int member) { done[static_cast<std::size_t>(member)] = 2; });
    CHECK(done == std::vector<int>(3, 2));
}
