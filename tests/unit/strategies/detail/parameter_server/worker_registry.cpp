#include "sotto/strategies/detail/parameter_server/worker_registry.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "sotto/strategies/parameter_server/consistency/bulk_synchronous.hpp"
#include "sotto/strategies/parameter_server/consistency/dynamic_stale_synchronous.hpp"
#include "sotto/strategies/parameter_server/consistency/stale_synchronous.hpp"
#include "sotto/core/clock.hpp"
#include "sotto/core/random.hpp"
#include "support/effort.hpp"

using namespace sotto;
using namespace sotto::testing;

namespace {

/// Who may go on now, in order.
template <class Consistency>
std::vector<int> going(detail::worker_registry<Consistency>& of) {
    std::vector<int> all;
    while (const auto worker = of.next_to_go(time_point{})) all.push_back(*worker);
    return all;
}

template <class Consistency>
void begin(detail::worker_registry<Consistency>& of, int workers) {
    for (int worker = 0; worker < workers; ++worker) of.expect(worker);
    for (int worker = 0; worker < workers; ++worker) of.attach(worker);
    CHECK(static_cast<int>(going(of).size()) == workers);
}

/// Workers and servers that come and go, of which nothing is in order but what one says to another.
/// Messages have no content: only who waits for whom is real.
template <class Consistency>
class job {
public:
    job(const Consistency& options, int workers, int servers, std::uint64_t seed)
        : options_(options), random_(seed) {
        for (int s = 0; s < servers; ++s) servers_.emplace_back(options, workers, servers);
        workers_.resize(static_cast<std::size_t>(workers));
        for (worker& w : workers_) w.at.resize(servers_.size());
        for (auto& s : servers_)
            for (int w = 0; w < workers; ++w) s.expect(w);
        for (int w = 0; w < workers; ++w) begin(w);
    }

    /// Whether all workers do all their rounds, while `faults` processes end and come again.
    bool ends(int faults) {
        for (std::int64_t steps = 0; steps < 200'000; ++steps) {
            if (faults > 0 && random_.below(40) == 0) {
                --faults;
                random_.below(2) == 0 ? restart_worker(any(workers_.size()))
                                      : restart_server(any(servers_.size()));
            }
            std::vector<std::function<void()>> possible;
            for (std::size_t w = 0; w < workers_.size(); ++w) {
                worker& own = workers_[w];
                if (own.computes) possible.push_back([this, w] { push(static_cast<int>(w)); });
                for (std::size_t s = 0; s < servers_.size(); ++s) {
                    if (!own.at[s].to.empty())
                        possible.push_back([this, w, s] { hear(static_cast<int>(w), s); });
                    if (!own.at[s].from.empty())
                        possible.push_back([this, w, s] { answered(static_cast<int>(w), s); });
                }
            }
            if (possible.empty()) break;
            possible[random_.below(possible.size())]();
        }
        return std::all_of(workers_.begin(), workers_.end(),
                           [](const worker& w) { return w.rounds == 0; });
    }

private:
    enum class says { attach, gradient, resend, resume, done, went };
    struct message {
        says what;
        std::int64_t clock;
        int life;  // of the worker
    };
    struct link {
        std::deque<message> to;
        std::deque<std::pair<std::int64_t, int>> from;  // clocks, and to which life
        int heard = 0;                                  // the life that the server knows
        bool is_answered = true;
        bool is_greeting = false;
    };
    struct worker {
        std::vector<link> at;
        std::int64_t clock = 0, least = 0;  // of its last gradient; that its next is above
        int rounds = 12;                    // still to do
        int life = 0;
        bool computes = false, has_begun = false, has_pushed = false;
    };

    std::size_t any(std::size_t count) {
        return static_cast<std::size_t>(random_.below(static_cast<std::uint64_t>(count)));
    }
    static void say(link& to, says what, std::int64_t clock, const worker& by) {
        to.to.push_back({what, clock, by.life});
    }
    worker& of(int w) { return workers_[static_cast<std::size_t>(w)]; }

    void begin(int w) {
        worker& own = of(w);
        own.clock = own.least = 0;
        own.computes = own.has_begun = own.has_pushed = false;
        for (link& l : own.at) {
            say(l, says::attach, 0, own);
            l.is_answered = false;
            l.is_greeting = false;
        }
    }
    void push(int w) {
        worker& own = of(w);
        own.computes = false;
        own.has_pushed = true;
        ++own.clock;
        for (link& l : own.at) {
            l.is_answered = false;
            if (!l.is_greeting) say(l, says::gradient, own.clock, own);
        }
    }
    void hear(int w, std::size_t s) {
        const auto [what, clock, life] = of(w).at[s].to.front();
        of(w).at[s].to.pop_front();
        of(w).at[s].heard = life;
        auto& server = servers_[s];
        switch (what) {
            case says::attach: server.attach(w); break;
            case says::gradient:
                if (!server.has(w) || server.waits(w)) return;  // of an earlier process
                (void)server.push(w, clock, {});
                break;
            case says::resend:
            case says::resume: server.continue_from(w, clock); break;
            case says::done:
            case says::went: server.detach(w); break;
        }
        do {
            while (server.round_complete()) server.end_round();
            if (const auto next = server.next_to_go({})) {
                link& l = of(*next).at[s];
                l.from.emplace_back(server.clock(*next), l.heard);
            } else {
                break;
            }
        } while (true);
    }
    void answered(int w, std::size_t s) {
        worker& own = of(w);
        link& l = own.at[s];
        const auto [clock, life] = l.from.front();
        l.from.pop_front();
        if (life != own.life) return;  // what was said to an earlier process
        own.least = std::max(own.least, clock);
        if (std::exchange(l.is_greeting, false)) {
            if (!l.is_answered) say(l, says::gradient, own.clock, own);
        } else {
            l.is_answered = true;
        }
        for (const link& other : own.at)
            if (!other.is_answered || other.is_greeting) return;
        if (own.computes || own.rounds == 0) return;
        if (std::exchange(own.has_begun, true)) --own.rounds;
        own.computes = own.rounds > 0;
        own.clock = std::max(own.clock, own.least);
        if (own.computes) return;
        for (link& other : own.at) say(other, says::done, 0, own);
    }
    void restart_worker(std::size_t w) {
        worker& own = workers_[w];
        if (own.rounds == 0) return;
        ++own.life;
        for (link& l : own.at) {
            l.from.clear();
            const std::size_t lost = any(l.to.size() + 1);
            l.to.resize(l.to.size() - lost);
            say(l, says::went, 0, own);
        }
        begin(static_cast<int>(w));
    }
    void restart_server(std::size_t s) {
        servers_[s] = detail::worker_registry<Consistency>(
            options_, static_cast<int>(workers_.size()), static_cast<int>(servers_.size()));
        for (std::size_t w = 0; w < workers_.size(); ++w) {
            worker& own = workers_[w];
            link& l = own.at[s];
            l.to.clear();
            l.from.clear();
            if (own.rounds == 0) continue;
            servers_[s].expect(static_cast<int>(w));
            l.is_greeting = own.has_pushed || l.is_answered;
            if (!own.has_pushed)
                say(l, says::attach, 0, own);
            else if (l.is_answered)
                say(l, says::resume, own.clock, own);
            else
                say(l, says::resend, own.clock - 1, own);
        }
    }

    Consistency options_;
    random_stream random_;
    std::vector<detail::worker_registry<Consistency>> servers_;
    std::vector<worker> workers_;
};

}  // namespace

TEST_CASE("in a first round all that begin are waited for") {
    detail::worker_registry of(bulk_synchronous{}, 3, 2);
    for (const int worker : {0, 1, 2}) of.expect(worker);
    of.attach(0);
    CHECK(going(of) == std::vector{0});
    CHECK_FALSE(of.push(0, 1, {}));
    CHECK_FALSE(of.round_complete());
    for (const int worker : {1, 2}) of.attach(worker);
    CHECK(going(of) == std::vector{1, 2});
    of.push(1, 1, {});
    CHECK_FALSE(of.round_complete());
    of.push(2, 1, {});
    CHECK(of.round_complete());
}

TEST_CASE("nobody waits for who begins in the midst until it has pushed") {
    detail::worker_registry of(bulk_synchronous{}, 3, 2);
    begin(of, 2);
    for (const int worker : {0, 1}) of.push(worker, 1, {});
    of.end_round();
    CHECK(going(of) == std::vector{0, 1});
    of.attach(2);
    CHECK(going(of) == std::vector{2});
    CHECK(of.clock(2) == 1);
    for (const int worker : {0, 1}) of.push(worker, 2, {});
    CHECK(of.round_complete());
    of.push(2, 2, {});
    CHECK(of.round_complete());
    of.end_round();
    CHECK(going(of) == std::vector{0, 1, 2});
    for (const int worker : {0, 1}) of.push(worker, 3, {});
    CHECK_FALSE(of.round_complete());  // for 2
}

TEST_CASE("worker_registry: a worker that is done -> the others' gradients weigh 1/n") {
    for (const bool done : {true, false}) {
        CAPTURE(done);
        detail::worker_registry of(stale_synchronous{.bound = 4}, 2, 1);
        begin(of, 2);
        of.push(0, 1, {});
        CHECK(of.detach(0, done));
        CHECK_FALSE(of.detach(0, done));
        of.push(1, 1, {});
        CHECK(of.weight() == (done ? 0.5 : 1.0));
    }
}

TEST_CASE("where there is one server who begins in the midst is waited for") {
    detail::worker_registry of(bulk_synchronous{}, 2, 1);
    begin(of, 1);
    of.push(0, 1, {});
    of.end_round();
    CHECK(going(of) == std::vector{0});
    of.attach(1);
    CHECK(of.clock(1) == 1);
    of.push(0, 2, {});
    CHECK_FALSE(of.round_complete());
}

TEST_CASE("who goes on with a new process of a server is waited for where it stands") {
    // 0 was answered all, and waits at another server for 1, which waits here; 2 is new.
    for (const bool new_first : {false, true}) {
        CAPTURE(new_first);
        detail::worker_registry of(bulk_synchronous{}, 3, 2);
        for (const int worker : {0, 1, 2}) of.expect(worker);
        if (new_first) of.attach(2);
        of.continue_from(1, 6);
        of.push(1, 7, {});
        CHECK_FALSE(of.round_complete());
        of.continue_from(0, 7);
        if (!new_first) {
            CHECK_FALSE(of.round_complete());
            of.attach(2);
        }
        CHECK(of.round_complete());
        of.end_round();
        (void)going(of);
        CHECK(of.clock(2) == 7);
        for (const int worker : {0, 1}) of.push(worker, 8, {});
        CHECK(of.round_complete());
    }
}

TEST_CASE("another time all begin anew") {
    const bulk_synchronous options{};
    detail::worker_registry of(options, 2, 2);
    begin(of, 2);
    for (const int worker : {0, 1}) of.push(worker, 1, {});
    of.end_round();
    for (const int worker : {0, 1}) CHECK(of.detach(worker));
    CHECK_FALSE(of.detach(0));
    of.begin_again(options);
    begin(of, 2);
    CHECK(of.clock(0) == 0);
    of.push(0, 1, {});
    CHECK_FALSE(of.round_complete());
}

TEST_CASE("where nothing is collected who begins in the midst is as far as the slowest") {
    detail::worker_registry of(stale_synchronous{.bound = 1}, 2, 2);
    begin(of, 1);
    for (int round = 1; round <= 5; ++round) {
        of.push(0, round, {});
        CHECK(going(of) == std::vector{0});
    }
    of.attach(1);
    CHECK(going(of) == std::vector{1});
    CHECK(of.clock(1) == 5);
    of.push(0, 6, {});
    CHECK(going(of) == std::vector{0});
    of.push(0, 7, {});
    CHECK(going(of).empty());
    of.push(1, 6, {});
    CHECK(going(of) == std::vector{0, 1});
}

TEST_CASE("several servers end every job, in whatever order they hear of what came and went") {
    const auto check = [](const auto& consistency) {
        for (std::uint64_t seed = 0; seed < tries<std::uint64_t>(4000, 200); ++seed) {
            CAPTURE(seed);
            const int workers = 2 + static_cast<int>(seed % 3);
            const int servers = 2 + static_cast<int>(seed / 3 % 2);
            CHECK(job(consistency, workers, servers, seed).ends(static_cast<int>(seed % 7)));
        }
    };
    check(bulk_synchronous{});
    check(stale_synchronous{.bound = 0});
    check(stale_synchronous{.bound = 1});
    check(dynamic_stale_synchronous{});
    check(dynamic_stale_synchronous{.lowest = 0, .highest = 3});
}
