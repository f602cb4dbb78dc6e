#include <dirent.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <set>
#include <string>

#include "sotto/core/errors.hpp"
#include "sotto/transports/tcp.hpp"
#include "support/allocation_count.hpp"
#include "support/failing_calls.hpp"
#include "support/processes.hpp"

using namespace sotto;
using namespace sotto::testing;
using namespace std::chrono_literals;
using support::failing_allocation;
using support::failing_calls;

namespace {

int open_descriptors() {
    int count = 0;
    DIR* const folder = ::opendir("/proc/self/fd");
    while (::readdir(folder)) ++count;
    ::closedir(folder);
    return count;
}

/// How a rank's attempt to join ended.
struct ending {
    bool joined = false;          // and voted
    bool names_itself = false;    // else a peer_failure of another rank, or a deadline
    bool failed = false;          // a call or an allocation, as was asked for
    int descriptors_left = 0;     // more than before
    std::array<char, 32> call{};  // that failed
    std::array<char, 512> text{};
};

struct job_kind {
    bool elastic = false;
    duration join = 10s;
};

/// What keeps a rank from joining.
struct obstacle {
    std::int64_t call = -1;        // that fails
    std::int64_t allocation = -1;  // that fails
    int descriptors = -1;          // beside those that are open
};

/// The call and the allocation that fail while it lives; whether one did is noted at its end.
class failures {
public:
    failures(const obstacle& at, ending& end)
        : end_(&end), calls_(at.call), allocations_(at.allocation) {}
    failures(const failures&) = delete;
    failures& operator=(const failures&) = delete;
    ~failures() {
        end_->failed = calls_.failed() || allocations_.has_failed();
        if (const char* const call = calls_.failed())
            std::strncpy(end_->call.data(), call, end_->call.size() - 1);
    }

private:
    ending* end_;
    failing_calls calls_;
    failing_allocation allocations_;
};

/// Limits descriptors to so many beside those that are open.
void limit_descriptors(int free) {
    int limit = 3;
    for (; free > 0; ++limit)
        if (::fcntl(limit, F_GETFD) < 0) --free;
    rlimit few{};
    ::getrlimit(RLIMIT_NOFILE, &few);
    few.rlim_cur = static_cast<rlim_t>(limit);
    ::setrlimit(RLIMIT_NOFILE, &few);
}

/// One rank of two. `ready(port)`: called once rank 0 listens.
template <class Ready>
ending attempt(int rank, std::uint16_t port, const job_kind& kind, const obstacle& at,
               Ready ready) {
    ending end;
    ::mallopt(M_PERTURB, 0xa5);  // what was freed is no longer what it was
    if (at.descriptors >= 0) limit_descriptors(at.descriptors);
    tcp_options options;
    options.rank = rank;
    options.size = 2;
    options.port = port;
    options.elastic = kind.elastic;
    options.join = kind.join;
    options.dead_after = 20s;  // a busy machine keeps threads waiting
    const auto note = [&](const char* text) {
        std::string(text).copy(end.text.data(), end.text.size() - 1);
    };
    const auto join = [&] {
        const failures of_this(at, end);
        tcp::meeting meeting(options);
        if (rank == 0) ready(meeting.port());
        return meeting.join();
    };
    try {
        tcp transport = join();
        end.joined = transport.agree(true);
    } catch (const peer_failure& e) {
        end.names_itself = e.rank() == rank;
        note(e.what());
    } catch (const error& e) {
        end.names_itself = e.code() != errc::timed_out;
        note(e.what());
    } catch (const std::exception& e) {
        end.names_itself = true;
        note(e.what());
    }
    return end;
}

/// Both ranks of a job. Each ends by itself, and leaves no descriptor open. Without a rank 0 that
/// listens there is no rank 1.
std::array<ending, 2> run(const job_kind& kind, const std::array<obstacle, 2>& obstacles) {
    std::array<ending, 2> ends;
    processes both;
    std::uint16_t port = 0;
    for (std::size_t rank = 0; rank < 2; ++rank) {
        both.start([&, rank](auto say) {
            const int before = open_descriptors();
            bool listens = false;
            ending end =
                attempt(static_cast<int>(rank), port, kind, obstacles[rank], [&](std::uint16_t at) {
                    listens = true;
                    say(at);
                });
            if (rank == 0 && !listens) say(std::uint16_t{0});
            rlimit many{};
            ::getrlimit(RLIMIT_NOFILE, &many);
            many.rlim_cur = many.rlim_max;
            ::setrlimit(RLIMIT_NOFILE, &many);
            end.descriptors_left = open_descriptors() - before;
            say(end);
        });
        if (rank == 0) REQUIRE(both.hear(rank, port));
        if (port == 0) break;
    }
    for (std::size_t rank = 0; rank < (port == 0 ? 1u : 2u); ++rank) {
        CAPTURE(rank);
        REQUIRE(both.hear(rank, ends[rank]));
        CHECK(both.wait(rank) == 0);
        CHECK(ends[rank].descriptors_left == 0);
        CHECK((ends[rank].joined || ends[rank].text[0] != '\0'));
    }
    return ends;
}

bool has(const ending& end, const std::string& part) {
    return std::string(end.text.data()).find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("tcp: any limit of descriptors -> ranks join, or say how many they need") {
    for (const bool elastic : {false, true}) {
        int enough = -1;
        std::array<ending, 2> last;
        for (int descriptors = 1; enough < 0 && descriptors < 32; ++descriptors) {
            CAPTURE(descriptors);
            const std::array<ending, 2> ends =
                run({elastic, 10s}, {{{.descriptors = descriptors}, {.descriptors = descriptors}}});
            if (ends[0].joined && ends[1].joined) {
                enough = descriptors;
                break;
            }
            last = ends;
            // Rank 0 of an elastic job needs one more than rank 1. With 10 it ends, before or while
            // it answers rank 1.
            for (const ending& end : ends) {
                CAPTURE(std::string(end.text.data()));
                CHECK_FALSE(end.joined);
                CHECK((has(end, "more descriptors and can open ") || end.text[0] == '\0' ||
                       (elastic && descriptors == 10 &&
                        has(end, "rank 1 was not let into its job by rank 0"))));
            }
        }
        // Two connections, three of Asio; a port, a spare one and one to look up users, which are
        // more than the two events of a running job. If elastic, all of these, and at rank 0 the
        // connection by which rank 1 met it.
        CHECK(enough == (elastic ? 11 : 8));
        CHECK(has(last[0], ": raise their limit (ulimit -n) from "));
    }
}

TEST_CASE("tcp: any system call of join fails -> both ranks end, that one is named") {
    if (!failing_calls::works) return;
    for (const bool elastic : {false, true}) {
        for (std::size_t victim : {0u, 1u}) {
            std::set<std::string> calls;
            bool reached_end = false;
            for (std::int64_t call = 0; !reached_end; ++call) {
                CAPTURE(elastic);
                CAPTURE(victim);
                CAPTURE(call);
                std::array<obstacle, 2> obstacles;
                obstacles[victim].call = call;
                const std::array<ending, 2> ends = run({elastic, 1s}, obstacles);
                const ending &hit = ends[victim], &other = ends[1 - victim];
                const std::string failed = hit.call.data();
                CAPTURE(failed);
                CAPTURE(std::string(hit.text.data()));
                CAPTURE(std::string(other.text.data()));
                reached_end = !hit.failed;
                if (reached_end || hit.joined) continue;  // it tried again, or did without
                calls.insert(failed);
                CHECK(hit.names_itself);
                CHECK_FALSE(other.joined);
                if (failed != "pthread_create") continue;
                const std::string thread = "tcp: the thread for signs of life of rank " +
                                           std::to_string(victim) + " cannot be started";
                CHECK(has(hit, thread + ": Resource temporarily unavailable; processes and threads "
                                        "of this user (ulimit -u) are limited to "));
                CHECK((elastic || has(other, thread)));
            }
            for (const char* const call : {"epoll_create1", "eventfd", "pthread_create"}) {
                CAPTURE(std::string(call));
                CHECK(calls.contains(call));
            }
        }
    }
}

TEST_CASE("tcp: any allocation of join fails -> both ranks end, no memory is used again") {
    if (!support::allocation_count::works) return;
    for (const bool elastic : {false, true})
        for (std::size_t victim : {0u, 1u}) {
            bool reached_end = false;
            // By larger steps later, where an allocation is as one before it.
            for (std::int64_t which = 0; !reached_end; which += 1 + which / 5) {
                CAPTURE(elastic);
                CAPTURE(victim);
                CAPTURE(which);
                std::array<obstacle, 2> obstacles;
                obstacles[victim].allocation = which;
                const std::array<ending, 2> ends = run({elastic, 300ms}, obstacles);
                CAPTURE(std::string(ends[victim].text.data()));
                reached_end = !ends[victim].failed;
                if (!ends[victim].joined) CHECK_FALSE(ends[1 - victim].joined);
            }
        }
}
