#include "sotto/transports/detail/tcp/tcp_leader_search.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "sotto/core/deadline.hpp"
#include "sotto/transports/tcp_options.hpp"
#include "support/failing_calls.hpp"

using namespace sotto;
using namespace sotto::detail::net;
using namespace std::chrono_literals;

namespace {

asio::ip::tcp::endpoint place(const char* address) {
    return {asio::ip::make_address(address), 29500};
}

resolved found(const std::vector<const char*>& addresses) {
    resolved answer;
    for (const char* const each : addresses)
        answer.addresses.push_back(asio::ip::make_address(each));
    return answer;
}

tcp_options of(const char* name) {
    tcp_options options;
    options.rank = 1;
    options.size = 2;
    options.address = name;
    options.insecure_network = true;
    return options;
}

/// A resolver whose answer changes.
struct changing_name {
    std::atomic<int> asked = 0;
    std::atomic<int> now = 0;
    std::vector<resolved> answers{};

    resolver by() {
        return [this](const std::string&) {
            ++asked;
            return answers[static_cast<std::size_t>(now.load())];
        };
    }
};

/// A search, and a clock that stands still until it is moved.
struct searching {
    tcp_options options;
    tcp_leader_search search;
    time_point clock = std::chrono::steady_clock::now();

    searching(const char* name, changing_name& names)
        : options(of(name)), search(options, names.by()) {}
    asio::ip::tcp::endpoint begin() {
        deadline limit(clock, 1min);
        return search.begin(limit);
    }
    /// Looks until an answer came to a question that was asked now.
    asio::ip::tcp::endpoint look_again(const asio::ip::tcp::endpoint& tried, changing_name& names) {
        const int before = names.asked;
        clock += 2s;
        asio::ip::tcp::endpoint found = search.look(tried, clock);
        while (names.asked == before || search.waits()) {
            std::this_thread::yield();
            found = search.look(tried, clock);
        }
        return search.look(tried, clock);
    }
};

}  // namespace

TEST_CASE("leader search: the name has another address now -> it looks there") {
    changing_name names{.answers = {found({"10.0.0.1"}), found({"10.0.0.2"}), {}}};
    searching one("node0", names);
    CHECK(one.begin() == place("10.0.0.1"));
    CHECK(one.search.look(place("10.0.0.1"), one.clock) == place("10.0.0.1"));
    CHECK_FALSE(one.search.waits());  // not again within a second
    CHECK(names.asked == 1);
    names.now = 1;
    CHECK(one.look_again(place("10.0.0.1"), names) == place("10.0.0.2"));
    names.now = 2;  // an answer without addresses changes nothing
    CHECK(one.look_again(place("10.0.0.2"), names) == place("10.0.0.2"));
}

TEST_CASE("leader search: a name has several addresses -> each is tried in turn") {
    const std::vector<const char*> all{"10.0.0.1", "10.0.0.2", "::2"};
    changing_name names{.answers = {found(all)}};
    searching one("node0", names);
    asio::ip::tcp::endpoint at = one.begin();
    CHECK(at == place("10.0.0.1"));
    CHECK(one.look_again(at, names) == at);  // still one of them
    for (const char* const next : {"10.0.0.2", "::2", "10.0.0.1"}) {
        at = one.search.after(at, one.clock);
        CHECK(at == place(next));
    }
}

TEST_CASE("leader search: an address that may not be used -> it stays where it was") {
    changing_name names{.answers = {found({"10.0.0.1"}), found({"127.0.1.1"})}};
    searching one("node0", names);
    CHECK(one.begin() == place("10.0.0.1"));
    names.now = 1;
    CHECK(one.look_again(place("10.0.0.1"), names) == place("10.0.0.1"));
    changing_name local{.answers = {found({"127.0.0.1"}), found({"10.0.0.1", "127.0.0.3"})}};
    searching two("node0.localhost", local);
    two.options.insecure_network = false;
    CHECK(two.begin() == place("127.0.0.1"));
    local.now = 1;
    CHECK(two.look_again(place("127.0.0.1"), local) == place("127.0.0.3"));
}

TEST_CASE("leader search: an address instead of a name -> no question is asked") {
    changing_name names{.answers = {found({"10.0.0.9"})}};
    searching one("[fd00::1]", names);
    CHECK(one.begin() == place("fd00::1"));
    CHECK(one.search.after(place("fd00::1"), one.clock + 1min) == place("fd00::1"));
    CHECK_FALSE(one.search.waits());
    CHECK(names.asked == 0);
}

TEST_CASE("leader search: no thread left or a resolver that throws -> it goes on") {
    changing_name names{.answers = {found({"10.0.0.1"}), found({"10.0.0.2"})}};
    searching one("node0", names);
    CHECK(one.begin() == place("10.0.0.1"));
    names.now = 1;
    if (support::failing_calls::works) {
        const support::failing_calls none(0);
        one.clock += 2s;
        CHECK(one.search.look(place("10.0.0.1"), one.clock) == place("10.0.0.1"));
        CHECK_FALSE(one.search.waits());
    }
    CHECK(one.look_again(place("10.0.0.1"), names) == place("10.0.0.2"));

    pending_lookup lookup;
    lookup.ask([](const std::string&) -> resolved { throw std::runtime_error("planned"); }, "x");
    std::optional<resolved> answer;
    while (!answer) {
        std::this_thread::yield();
        answer = lookup.take();
    }
    CHECK(answer->addresses.empty());
}
