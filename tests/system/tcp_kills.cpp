#include <doctest/doctest.h>
#include <sys/wait.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "sotto/collectives/all_reduce.hpp"
#include "sotto/collectives/detail/operation.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/transports/tcp.hpp"
#include "support/processes.hpp"

using namespace sotto;
using namespace sotto::testing;

namespace {

enum class occupation : std::uint8_t { votes, sums, waits, sends };

struct ending {
    int named = -1;
    std::int64_t rounds = -1;  // that it has seen complete
    bool by_failure = false;
};

/// Works until somebody fails; `begun` once it is at work.
template <class Begun>
ending keep_busy(tcp& through, occupation what, Begun begun) {
    ending end;
    std::vector<float> values(200000, 1.0f);
    detail::collectives::all_reduce sum(through, 200000);
    const int next = (through.rank() + 1) % through.size();
    std::vector<std::byte> content(100000);
    try {
        end.rounds = 0;
        begun();
        while (true) {
            const auto round = static_cast<std::uint64_t>(end.rounds);
            switch (what) {
                case occupation::votes: break;
                case occupation::sums:
                    sum.start(values, {1, 0, round});
                    detail::collectives::run(through, sum);
                    break;
                case occupation::waits:  // for a message that never comes
                    through.wait(through.receive(any_rank, {2, 0, 0}, content));
                    break;
                case occupation::sends:  // to one that never receives
                    through.wait(through.send(next, {3, 0, round}, content));
                    break;
            }
            if (what == occupation::votes || what == occupation::sums) through.agree(true);
            ++end.rounds;
        }
    } catch (const peer_failure& e) {
        end.named = e.rank();
        end.by_failure = true;
    }
    return end;
}

}  // namespace

TEST_CASE("a rank that is killed is named by all others, which saw the same rounds complete") {
    for (const int size : {2, 4})
        for (const auto what :
             {occupation::votes, occupation::sums, occupation::waits, occupation::sends})
            for (int victim = 0; victim < size; ++victim) {
                CAPTURE(size);
                CAPTURE(victim);
                CAPTURE(static_cast<int>(what));
                tcp_options options;
                options.size = size;
                options.port = 0;
                auto first = std::make_unique<tcp::meeting>(options);
                options.port = first->port();
                processes ranks;
                for (int rank = 0; rank < size; ++rank)
                    ranks.start([&, rank](auto say) {
                        tcp_options own = options;
                        own.rank = rank;
                        if (rank != 0) first.reset();
                        tcp endpoint = rank == 0 ? first->join() : tcp::join(own);
                        const ending end = keep_busy(endpoint, what, [&] { say(true); });
                        say(end);
                    });
                first.reset();
                for (int rank = 0; rank < size; ++rank) {
                    bool begun = false;
                    REQUIRE(ranks.hear(static_cast<std::size_t>(rank), begun));
                }
                ranks.signal(static_cast<std::size_t>(victim), SIGKILL);
                std::int64_t rounds = -1;
                for (int rank = 0; rank < size; ++rank) {
                    if (rank == victim) continue;
                    ending end;
                    REQUIRE(ranks.hear(static_cast<std::size_t>(rank), end));
                    CHECK(end.by_failure);
                    CHECK(end.named == victim);
                    if (what == occupation::votes || what == occupation::sums) {
                        if (rounds < 0) rounds = end.rounds;
                        CHECK(end.rounds == rounds);
                    }
                    const int status = ranks.wait(static_cast<std::size_t>(rank));
                    CHECK(WIFEXITED(status));
                    CHECK(WEXITSTATUS(status) == 0);
                }
            }
}
