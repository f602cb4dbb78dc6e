#include "sotto/strategies/detail/parameter_server/server_link.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sotto/core/bytes.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/transports/run_simulated.hpp"
#include "sotto/wire/detail/coding/little_endian.hpp"
#include "sotto/wire/detail/protocols/push.hpp"

using namespace sotto;
using namespace std::chrono_literals;

namespace {

/// How rank 1's waiting for an answer of rank 0 ended, and after how long.
struct ending {
    int blames = -1;
    std::string cause;
    peer_failure::job_phase when;
    duration after{};
};

/// Waits for the answer as a worker does, up to 10 s for a server that is away.
ending wait_for_answer(simulated& t, detail::server_link& link) {
    ending end;
    const time_point began = t.now();
    try {
        while (true) {
            const auto seen = t.activity();
            while (const auto change = t.next_change()) {
                if (!change->is_here) link.advance();
                change->is_here ? link.came() : link.went(change->left);
            }
            if (link.advance()) return end;
            if (t.activity() == seen) t.await(seen);
        }
    } catch (const peer_failure& e) {
        end = {e.rank(), e.cause(), e.when(), {}};
    }
    end.after = t.now() - began;
    return end;
}

/// Rank 0 serves for 2 s, without an answer to anything; rank 1 pushes at the beginning, or once
/// the server is gone.
ending wait_in_vain(bool pushes_late, simulated_options options = {}) {
    ending end;
    simulate(2, options, [&](simulated& t) {
        t.tolerate();
        if (t.rank() == 0) {
            t.charge({.flops = 1e11});
            return;
        }
        std::vector<float> values(4);
        detail::server_link link(t, 0, values, 10s);
        if (pushes_late) t.charge({.flops = 1.5e11});
        t.at({.round = 7, .phase = "attach"});
        link.at({.round = 7, .phase = "attach"});
        link.push({.kind = detail::wire::push_kind::attach}, {});
        end = wait_for_answer(t, link);
    });
    return end;
}

/// A transport whose transfers end when the test says so.
struct by_hand {
    struct transfer {
        bool done = false;
        mutable_byte_view in{};
        detail::wire::push_kind says{};  // of a send
        std::uint64_t clock = 0;
    };
    std::vector<transfer> all;

    int rank() const { return 1; }
    int size() const { return 2; }

    request send(int, tag, byte_view out) {
        const detail::wire::push_header head =
            detail::wire::read_push_header(out).value([] { return "a push"; });
        return add({.says = head.kind, .clock = head.clock});
    }
    request receive(int, tag, mutable_byte_view in) { return add({.in = in}); }
    std::optional<completion> poll(request r) const {
        return all[r.slot].done ? std::optional(completion{}) : std::nullopt;
    }
    completion wait(request) { return {}; }
    std::uint64_t activity() { return 0; }
    void await(std::uint64_t) {}
    bool agree(bool vote) { return vote; }
    void withdraw() noexcept {}
    void fail(std::string_view) noexcept {}
    void at(peer_failure::job_phase) {}
    void reserve(std::int64_t) {}
    time_point now() const { return {}; }
    void charge(work) {}
    traffic counters() const { return {}; }

    request add(const transfer& t) {
        all.push_back(t);
        return {.slot = static_cast<std::uint32_t>(all.size() - 1)};
    }
    /// Ends the last receive, with what it gets.
    void answer(byte_view content) {
        REQUIRE(all.back().in.size() == content.size());
        std::copy(content.begin(), content.end(), all.back().in.begin());
        all.back().done = true;
    }
};

/// Answers a push with the parameters.
void answer(by_hand& t, detail::server_link& link, std::span<const float> values,
            std::uint64_t rounds = 0, std::uint64_t version = 0) {
    std::array<std::byte, detail::wire::parameters_header_bytes> head{};
    detail::wire::write_parameters_header(
        {.version = version, .size = values.size_bytes(), .rounds = rounds}, head.data());
    const auto head_due =
        std::find_if(t.all.rbegin(), t.all.rend(), [](const auto& one) { return !one.in.empty(); });
    std::copy(head.begin(), head.end(), head_due->in.begin());
    head_due->done = true;
    link.advance();  // asks for the values
    t.answer(std::as_bytes(values));
}

}  // namespace

TEST_CASE("nobody waits for a server that has left, and the error says that its job is over") {
    for (const bool pushes_late : {false, true}) {
        CAPTURE(pushes_late);
        const ending end = wait_in_vain(pushes_late);
        CHECK(end.blames == 0);
        CHECK(end.cause == "it left: its job is over");
        CHECK(end.when.round == 7);
        CHECK(end.when.phase == std::string("attach"));
        CHECK(end.after < 3s);
    }
}

TEST_CASE("a server that failed is waited for as long as patience lasts") {
    for (const bool pushes_late : {false, true}) {
        CAPTURE(pushes_late);
        simulated_options options;
        options.faults = {network_fault::crash(0, 1s)};
        const ending end = wait_in_vain(pushes_late, options);
        CHECK(end.blames == 0);
        CHECK(end.cause == "it went, and did not come back in time");
        CHECK(end.after > 10s);
    }
}

TEST_CASE("server_link: the worker is halted while the server is away -> patience lasts longer") {
    simulated_options options;
    options.faults = {network_fault::crash(0, 1s), network_fault::pause(1, 5s, 600s)};
    const ending end = wait_in_vain(false, options);
    CHECK(end.cause == "it went, and did not come back in time");
    CHECK(end.after > 610s);
    CHECK(end.after < 612s);
}

TEST_CASE("server_link: a server is not ready yet -> another answer is waited for") {
    by_hand t;
    std::vector<float> values(4);
    const std::vector<float> served{1.0f, 2.0f, 3.0f, 4.0f};
    detail::server_link link(t, 0, values, 10s);
    link.push({.kind = detail::wire::push_kind::attach}, {});
    for (auto& one : t.all) one.done = one.in.empty();  // it is sent
    std::array<std::byte, detail::wire::parameters_header_bytes> head{};
    detail::wire::write_parameters_header({.kind = detail::wire::parameters_kind::not_yet},
                                          head.data());
    for (std::size_t times = 1; times <= 3; ++times) {
        const std::size_t before = t.all.size();
        const auto due = std::find_if(t.all.rbegin(), t.all.rend(),
                                      [](const auto& one) { return !one.in.empty(); });
        std::copy(head.begin(), head.end(), due->in.begin());
        due->done = true;
        CHECK_FALSE(link.advance());
        CHECK(t.all.size() == before + 1);
        CHECK(t.all.back().in.size() == head.size());
    }
    answer(t, link, served, 0, 5);
    CHECK(link.advance());
    CHECK(values == served);
    CHECK(link.answer().version == 5);
}

TEST_CASE(
    "a server that fails while a worker begins anew with it is greeted once when it is back") {
    by_hand t;
    std::vector<float> values(4);
    const std::vector<float> served{1.0f, 2.0f, 3.0f, 4.0f};
    detail::server_link link(t, 0, values, 10s);
    link.message().resize(detail::wire::push_head_bytes(0));
    link.push({.kind = detail::wire::push_kind::gradient, .clock = 1}, {});
    link.went(false);
    link.came();
    answer(t, link, served);  // before it is known that the greeting has left
    CHECK_FALSE(link.advance());
    CHECK(values == served);
    link.went(false);
    t.all.clear();
    link.came();
    for (auto& one : t.all) one.done = one.in.empty();
    CHECK_FALSE(link.advance());
    std::vector<detail::wire::push_kind> said;
    for (const auto& one : t.all)
        if (one.in.empty()) said.push_back(one.says);
    CHECK(said == std::vector{detail::wire::push_kind::resend});
}

namespace {

/// A worker's link to a server by hand, whose pushes leave at once.
struct worked {
    by_hand t;
    std::vector<float> values = std::vector<float>(4);
    detail::server_link link{t, 0, values, 10s};

    worked() { link.message().resize(detail::wire::push_head_bytes(0)); }
    void push(detail::wire::push_kind kind, std::uint64_t round = 0) {
        link.push({.kind = kind, .round = round, .clock = round + 1}, {});
        leave();
    }
    void leave() {
        for (auto& one : t.all)
            if (one.in.empty()) one.done = true;
    }
    void get(std::uint64_t rounds, std::uint64_t version) {
        answer(t, link, std::vector<float>(4), rounds, version);
        leave();
        link.advance();
    }
    /// A gradient that the server takes.
    void round(std::uint64_t number, std::uint64_t version) {
        push(detail::wire::push_kind::gradient, number);
        get(number + 1, version);
        REQUIRE(link.advance());
    }
    /// The server fails with a push on its way, and comes again with fewer rounds.
    void comes_again(std::uint64_t rounds, std::uint64_t version) {
        link.went(false);
        t.all.clear();
        link.came();
        leave();
        get(rounds, version);
    }
};

}  // namespace

TEST_CASE("rounds that a server had acknowledged and has forgotten are counted, each once") {
    worked w;
    w.push(detail::wire::push_kind::attach);
    w.get(0, 0);
    for (std::uint64_t round = 0; round < 15; ++round) w.round(round, round + 1);
    w.push(detail::wire::push_kind::gradient, 15);
    w.comes_again(10, 10);
    CHECK(w.link.take_lost() == 5);
    CHECK(w.link.take_lost() == 0);
    w.get(16, 11);  // what was on its way was pushed again
    REQUIRE(w.link.advance());
    w.push(detail::wire::push_kind::gradient, 16);
    w.comes_again(10, 10);  // still from the same checkpoint
    CHECK(w.link.take_lost() == 1);
    w.get(17, 11);
    w.round(17, 12);
    w.push(detail::wire::push_kind::gradient, 18);
    w.comes_again(18, 12);  // it had saved all
    CHECK(w.link.take_lost() == 0);
}

TEST_CASE("a server that had no checkpoint has lost every round, and one that was done none") {
    for (const bool was_done : {false, true}) {
        worked w;
        w.push(detail::wire::push_kind::attach);
        w.get(0, 0);
        for (std::uint64_t round = 0; round < 3; ++round) w.round(round, round + 1);
        w.push(detail::wire::push_kind::done);
        // What it saves when all are done counts no rounds any more.
        w.comes_again(0, was_done ? 3 : 0);
        CHECK(w.link.take_lost() == (was_done ? 0 : 3));
    }
}

TEST_CASE("a server that comes again hears from a rank that only serves that it is done") {
    for (const bool was_answered : {false, true}) {
        worked w;
        w.push(detail::wire::push_kind::done);
        if (was_answered) w.get(0, 3);
        w.link.went(false);
        w.t.all.clear();
        w.link.came();
        std::vector<detail::wire::push_kind> said;
        for (const auto& one : w.t.all)
            if (one.in.empty()) said.push_back(one.says);
        CHECK(said.size() == (was_answered ? 0 : 1));
        for (const detail::wire::push_kind kind : said)
            CHECK(kind == detail::wire::push_kind::done);
        if (!was_answered) w.get(0, 3);
        CHECK(w.link.advance());
        CHECK(w.link.take_lost() == 0);
    }
}

TEST_CASE("a server that comes again hears at once from a worker that owes it nothing") {
    worked w;
    w.push(detail::wire::push_kind::attach);
    w.get(0, 0);
    w.round(0, 1);
    w.link.went(false);
    w.t.all.clear();
    w.link.came();
    REQUIRE(w.t.all.size() == 2);
    CHECK(w.t.all[1].says == detail::wire::push_kind::resume);
    CHECK_FALSE(w.link.advance());

    // Its next gradient goes once the server has answered.
    w.push(detail::wire::push_kind::gradient, 1);
    CHECK(w.t.all.size() == 2);
    w.leave();
    w.get(0, 0);
    CHECK(w.t.all.back().says == detail::wire::push_kind::gradient);
    w.leave();
    w.get(1, 1);
    CHECK(w.link.advance());
    CHECK(w.link.take_lost() == 1);
}

TEST_CASE("a server that goes once more before it has heard who resumes holds up nobody") {
    worked w;
    w.push(detail::wire::push_kind::attach);
    w.get(0, 0);
    w.round(0, 1);
    w.link.went(false);
    w.link.came();
    w.link.went(false);
    CHECK(w.link.advance());
}

TEST_CASE("server_link: a server is back that has the push -> not pushed again, only greeted") {
    worked w;
    w.push(detail::wire::push_kind::attach);
    w.get(0, 0);
    w.link.push({.kind = detail::wire::push_kind::gradient, .round = 0, .clock = 9}, {});
    w.leave();
    w.link.went(false);
    w.t.all.clear();
    w.link.came();
    CHECK(w.t.all.back().says == detail::wire::push_kind::resend);
    CHECK(w.t.all.back().clock == 8);  // of the last gradient that the server need not have
    w.leave();
    w.get(1, 1);
    CHECK(w.t.all.back().says == detail::wire::push_kind::resume);
    CHECK(w.t.all.back().clock == 9);
    w.leave();
    w.get(1, 1);
    CHECK(w.link.advance());
    CHECK(w.link.take_lost() == 0);
}
