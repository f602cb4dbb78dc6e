// Ranks of one machine that gather over TCP with default options, each a process, and train.
//
//   SOTTO_GATHER_RANKS  how many; 6
//   SOTTO_GATHER_LOAD   busy processes beside them; 0
//   SOTTO_GATHER_TLS    0: without a secret, 1: with one; both if it is not set

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sotto/core/clock.hpp"
#include "sotto/optimizers/sgd.hpp"
#include "sotto/strategies/all_reduce.hpp"
#include "sotto/trainer/trainer.hpp"
#include "sotto/transports/tcp.hpp"
#include "sotto/transports/tcp_tls.hpp"
#include "support/fault_seeds.hpp"
#include "support/numbers.hpp"
#include "support/processes.hpp"

using namespace sotto;
using namespace sotto::testing;
using namespace std::chrono_literals;

namespace {

struct ending {
    std::int64_t steps = -1;
    double first_parameter = 0.0;
    double joined_after = 0.0, trained_after = 0.0;  // seconds
};

/// Processes that do nothing but keep the processors busy.
class busy_machine {
public:
    explicit busy_machine(std::uint64_t load) {
        for (std::uint64_t i = 0; i < load; ++i)
            others_.start([](auto) {
                for (std::atomic<std::uint64_t> turns = 0;; ++turns) {}
            });
    }

private:
    processes others_;
};

/// Each rank says how it ended; those that fail are named.
void gather_and_train(int size, std::shared_ptr<const detail::tcp_security> security) {
    tcp_options options;
    options.size = size;
    options.port = 0;
    options.security = std::move(security);
    auto first = std::make_unique<tcp::meeting>(options);
    options.port = first->port();
    processes ranks;
    for (int rank = 0; rank < size; ++rank)
        ranks.start([&, rank](auto say) {
            tcp_options own = options;
            own.rank = rank;
            if (rank != 0) first.reset();
            const auto began = std::chrono::steady_clock::now();
            const auto since = [&] { return in_seconds(std::chrono::steady_clock::now() - began); };
            tcp endpoint = rank == 0 ? first->join() : tcp::join(own);
            ending end{.joined_after = since()};
            number_model model;
            trainer trainer{
                model, all_reduce{sgd{.learning_rate = 0.125}}, endpoint, {.batch_size = 2}};
            end.steps = trainer.fit(numbered{2 * size}, epochs{10}).steps;
            end.first_parameter = double{trainer.parameters()[0]};
            end.trained_after = since();
            say(end);
        });
    first.reset();
    ending all{};
    for (int rank = 0; rank < size; ++rank) {
        CAPTURE(rank);
        ending end;
        const auto which = static_cast<std::size_t>(rank);
        CHECK(ranks.hear(which, end));
        CHECK(end.steps == 10);
        if (rank == 0) all = end;
        CHECK(end.first_parameter == all.first_parameter);
        CHECK(ranks.wait(which) == 0);
    }
    std::printf("%d ranks %s: all there after %.1f s, trained after %.1f s\n", size,
                options.security ? "with TLS" : "without TLS", all.joined_after, all.trained_after);
}

}  // namespace

TEST_CASE("tcp: many ranks on few processors -> they gather and train") {
    const auto size = static_cast<int>(number_from("SOTTO_GATHER_RANKS", 6));
    const busy_machine load(number_from("SOTTO_GATHER_LOAD", 0));
    const std::uint64_t with = number_from("SOTTO_GATHER_TLS", 2);
    if (with != 1) gather_and_train(size, nullptr);
    if (with != 0)
        gather_and_train(size, pre_shared_key::from_text("0123456789abcdef0123456789abcdef", ""));
}
