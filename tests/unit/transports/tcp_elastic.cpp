#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/transports/tcp.hpp"
#include "sotto/transports/tcp_tls.hpp"
#include "support/listener.hpp"

using namespace sotto;
using namespace std::chrono_literals;

namespace {

/// Ranks of an elastic job, each driven by this thread, which joins them in threads of their own.
class elastic_job {
public:
    explicit elastic_job(int size, bool secret = false) : size_(size) {
        options_.size = size;
        options_.port = 0;
        options_.elastic = true;
        options_.timeout = 20s;
        if (secret) options_.security = pre_shared_key::from_text(std::string(64, 'a'), "a test");
        first_ = std::make_unique<tcp::meeting>(options_);
        options_.port = first_->port();
    }

    tcp_options as(int rank) const {
        tcp_options own = options_;
        own.rank = rank;
        return own;
    }
    tcp_options& options() noexcept { return options_; }

    std::future<std::unique_ptr<tcp>> come(int rank) {
        if (rank == 0 && first_)
            return std::async(std::launch::async, [meeting = std::move(first_)] {
                return std::unique_ptr<tcp>(new tcp(meeting->join()));
            });
        return std::async(std::launch::async, [own = as(rank)] {
            return std::unique_ptr<tcp>(new tcp(tcp::join(own)));
        });
    }

    /// All of them.
    std::vector<std::unique_ptr<tcp>> begin() {
        std::vector<std::future<std::unique_ptr<tcp>>> coming;
        for (int rank = 0; rank < size_; ++rank) coming.push_back(come(rank));
        std::vector<std::unique_ptr<tcp>> ranks;
        for (auto& c : coming) ranks.push_back(c.get());
        return ranks;
    }

private:
    int size_;
    tcp_options options_;
    std::unique_ptr<tcp::meeting> first_;
};

void kill(std::unique_ptr<tcp>& rank) {
    rank->fail("killed");
    rank.reset();
}

rank_change next_change(tcp& of) {
    while (true) {
        const std::uint64_t seen = of.activity();
        if (auto change = of.next_change()) return *change;
        of.await(seen);
    }
}

/// A message there and back.
void exchange(tcp& one, tcp& other, int value) {
    const tag label{7, static_cast<std::uint32_t>(value), 0};
    int there = 0, back = 0;
    const auto memory = [](int& of) { return std::as_writable_bytes(std::span(&of, 1)); };
    const int reply = value + 1;
    auto replies = std::async(std::launch::async, [&] {
        other.wait(other.receive(one.rank(), label, memory(there)));
        other.wait(other.send(one.rank(), label, std::as_bytes(std::span(&reply, 1))));
    });
    const request sent = one.send(other.rank(), label, std::as_bytes(std::span(&value, 1)));
    one.wait(one.receive(other.rank(), label, memory(back)));
    one.wait(sent);
    replies.get();
    CHECK(there == value);
    CHECK(back == value + 1);
}

/// A rank that comes again may begin without some of the others: until it has heard of them all.
void hear_of_all(tcp& of) {
    for (int absent = 0;;) {
        auto change = of.next_change();
        if (!change && absent == 0) return;
        if (!change) change = next_change(of);
        absent += change->is_here ? -1 : 1;
    }
}

void require_gone(const rank_change& change, int rank) {
    CHECK(change.rank == rank);
    CHECK_FALSE(change.is_here);
    CHECK_FALSE(change.left);
}

void require_here(const rank_change& change, int rank) {
    CHECK(change.rank == rank);
    CHECK(change.is_here);
}

}  // namespace

TEST_CASE("an elastic job begins as any other") {
    elastic_job job(4);
    auto ranks = job.begin();
    for (int one = 0; one < 4; ++one)
        for (int other = 0; other < one; ++other)
            exchange(*ranks[static_cast<std::size_t>(one)], *ranks[static_cast<std::size_t>(other)],
                     10 * one + other);
    for (auto& rank : ranks) CHECK_FALSE(rank->next_change());
}

TEST_CASE("whichever rank is killed, it comes again to all others") {
    for (const bool secret : {false, true})
        for (int victim = 0; victim < 3; ++victim) {
            CAPTURE(victim);
            CAPTURE(secret);
            elastic_job job(3, secret);
            auto ranks = job.begin();
            const auto of = [&](int rank) -> std::unique_ptr<tcp>& {
                return ranks[static_cast<std::size_t>(rank)];
            };
            for (int times = 0; times < 2; ++times) {
                kill(of(victim));
                for (int other = 0; other < 3; ++other)
                    if (other != victim) require_gone(next_change(*of(other)), victim);
                of(victim) = job.come(victim).get();
                hear_of_all(*of(victim));
                for (int other = 0; other < 3; ++other) {
                    if (other == victim) continue;
                    require_here(next_change(*of(other)), victim);
                    exchange(*of(victim), *of(other), 100 * times + other);
                    CHECK_FALSE(of(other)->next_change());
                }
                CHECK_FALSE(of(victim)->next_change());
            }
        }
}

TEST_CASE("who failed and has not ended is not taken for the process after it") {
    for (const bool says_so : {true, false})
        for (int victim = 1; victim < 3; ++victim) {
            CAPTURE(says_so);
            CAPTURE(victim);
            elastic_job job(3);
            job.options().join = 5s;
            auto ranks = job.begin();
            auto& failed = ranks[static_cast<std::size_t>(victim)];
            if (says_so)
                failed->fail("it gives up");
            else
                failed->withdraw();
            std::vector<tcp*> others;
            for (auto& rank : ranks)
                if (rank != failed) others.push_back(rank.get());
            if (!says_so)  // they miss it once they wait for it
                for (tcp* const other : others) {
                    const tag label{7, 0, 0};
                    CHECK_THROWS_AS(other->wait(other->receive(victim, label, {})), peer_failure);
                }
            for (tcp* const other : others) require_gone(next_change(*other), victim);
            auto next = job.come(victim).get();
            hear_of_all(*next);
            for (tcp* const other : others) {
                require_here(next_change(*other), victim);
                exchange(*next, *other, 1);
                exchange(*other, *next, 2);
            }
            failed.reset();
            for (tcp* const other : others) CHECK_FALSE(other->next_change());
            CHECK_FALSE(next->next_change());
        }
}

TEST_CASE("a rank that comes late finds a job under way") {
    elastic_job job(3);
    job.options().join = 300ms;
    tcp_options own = job.as(0);
    own.port = 0;
    tcp::meeting meeting(own);
    job.options().port = meeting.port();
    auto second = job.come(1);
    tcp zero = meeting.join();  // at the end of `join`
    auto one = second.get();
    const rank_change absent = next_change(zero);
    require_gone(absent, 2);
    CHECK(absent.cause == "it has not come");
    CHECK_THROWS_AS((void)zero.send(2, {1, 0, 0}, byte_view{}), peer_failure);
    require_gone(next_change(*one), 2);
    auto two = job.come(2).get();
    require_here(next_change(zero), 2);
    require_here(next_change(*one), 2);
    exchange(*two, zero, 1);
    exchange(*two, *one, 2);
    exchange(*one, zero, 3);
}

TEST_CASE("who comes as a rank that is there waits until that one is gone") {
    elastic_job job(2);
    auto ranks = job.begin();
    auto second = job.come(1);
    kill(ranks[1]);
    require_gone(next_change(*ranks[0]), 1);
    require_here(next_change(*ranks[0]), 1);
    ranks[1] = second.get();
    exchange(*ranks[1], *ranks[0], 4);
}

TEST_CASE("a rank that left is told from one that failed, and may come again") {
    elastic_job job(2);
    auto ranks = job.begin();
    ranks[1].reset();
    const rank_change change = next_change(*ranks[0]);
    CHECK(change.rank == 1);
    CHECK_FALSE(change.is_here);
    CHECK(change.left);
    ranks[1] = job.come(1).get();
    require_here(next_change(*ranks[0]), 1);
    exchange(*ranks[0], *ranks[1], 5);
}

TEST_CASE("what a rank had sent before it left goes to receives made after that") {
    for (const bool secret : {false, true}) {
        CAPTURE(secret);
        elastic_job job(2, secret);
        auto ranks = job.begin();
        std::vector<std::byte> said(40000, std::byte{7}), more(50000, std::byte{8}), heard(50000);
        const request first = ranks[1]->send(0, {1, 0, 0}, said);
        const request second = ranks[1]->send(0, {1, 1, 0}, more);
        ranks[1]->wait(first);
        ranks[1]->wait(second);
        auto leaving = std::async(std::launch::async, [&] { ranks[1].reset(); });
        const auto is_told = [&] {  // it hears of it without asking who
            try {
                (void)ranks[0]->send(1, {2, 0, 0}, {});
                return false;
            } catch (const peer_failure&) {
                return true;
            }
        };
        while (!is_told()) ranks[0]->await(ranks[0]->activity());
        CHECK(ranks[0]->wait(ranks[0]->receive(1, {1, 0, 0}, heard)).bytes == 40000);
        CHECK(std::equal(said.begin(), said.end(), heard.begin()));
        CHECK(ranks[0]->wait(ranks[0]->receive(1, {1, 1, 0}, heard)).bytes == 50000);
        CHECK(heard == more);
        CHECK_THROWS_AS((void)ranks[0]->receive(1, {1, 0, 0}, heard), peer_failure);
        CHECK(next_change(*ranks[0]).left);
        leaving.get();
    }
}

TEST_CASE("rank 0 alone does not begin, and nobody begins without it") {
    tcp_options options;
    options.size = 2;
    options.port = 0;
    options.elastic = true;
    options.join = 50ms;
    tcp::meeting meeting(options);
    const std::string port = std::to_string(meeting.port());
    CHECK_THROWS_WITH_AS(meeting.join(),
                         ("tcp: no other rank came to rank 0 at 127.0.0.1 port " + port +
                          " within 0.05 s; tcp_options::join sets the limit")
                             .c_str(),
                         error);
    options.rank = 1;
    options.port = static_cast<std::uint16_t>(std::stoi(port));
    CHECK_THROWS_WITH_AS(
        tcp::join(options),
        ("tcp: rank 1 was not let into its job by rank 0 at 127.0.0.1 port " + port +
         " within 0.05 s; tcp_options::join sets the limit; its last attempt: "
         "no process answered there")
            .c_str(),
        error);
}

TEST_CASE("ranks that are configured differently do not meet") {
    const testing::listener heard;
    elastic_job job(2);
    auto zero = job.come(0);
    for (const bool elastic : {true, false}) {
        tcp_options other = job.as(1);
        other.elastic = elastic;
        if (elastic) other.configuration = "another";
        try {
            tcp::join(other);
            FAIL("rank 0 is configured differently");
        } catch (const mismatch& e) {
            CHECK(std::string(e.what()) ==
                  (elastic ? "tcp: rank 1 and rank 0 have different texts as "
                             "tcp_options::configuration"
                           : "tcp: by rank 1 ranks may not go and come again, by rank 0 they may: "
                             "tcp_options::elastic differs"));
            // Rank 0, which others wait for, says at once what the one that ends does.
            REQUIRE_FALSE(heard.all().empty());
            CHECK(heard.all().back().rank == 0);
            CHECK(heard.all().back().text == "turned away: " + std::string(e.what()).substr(5));
        }
    }
    auto one = job.come(1).get();
    exchange(*one, *zero.get(), 6);
}
