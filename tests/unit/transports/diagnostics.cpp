#include "sotto/transports/diagnostics.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <vector>

#include "sotto/transports/group.hpp"
#include "sotto/transports/metered.hpp"
#include "sotto/transports/run_in_process.hpp"
#include "sotto/transports/run_simulated.hpp"
#include "support/listener.hpp"

using namespace sotto;

namespace {

std::vector<std::string> said_to(const testing::listener& by) {
    std::vector<std::string> lines;
    for (const diagnostic& r : by.all()) lines.push_back(std::to_string(r.rank) + " " + r.text);
    return lines;
}

}  // namespace

TEST_CASE("a remark is told at once, with its rank, as one line") {
    const testing::listener all;
    const detail::diagnostics of_two(2, false);
    of_two.say("rank 1 went");
    CHECK(said_to(all) == std::vector<std::string>{"2 rank 1 went"});
    of_two.say("no space\nleft\x1b[2J");
    CHECK(said_to(all).back() == "2 no space\\nleft\\x1b[2J");
    on_diagnostic = nullptr;
    of_two.say("nobody is told");
    CHECK(said_to(all).size() == 2);
}

TEST_CASE("ranks of a simulated network are silent, also through what wraps their transport") {
    const testing::listener all;
    const auto speak = [](auto& transport) {
        detail::diagnostics::of(transport).say("plain");
        metered counted(transport);
        detail::diagnostics::of(counted).say("metered");
        group mine(transport, {transport.rank()});
        detail::diagnostics::of(mine).say("group");
    };
    run_simulated(2, {.seed = 7}, [&](simulated& transport) {
        speak(transport);
        metered counted(transport);
        CHECK(simulated_network_of(counted) == describe(simulated_options{.seed = 7}));
    });
    CHECK(said_to(all).empty());
    run_simulated(1, {.seed = 7}, [](simulated& transport) {
        detail::diagnostics::of_files(transport).say("a disk");
    });
    CHECK(said_to(all) == std::vector<std::string>{"0 a disk"});
    run_in_process(1, [&](in_process& transport) {
        speak(transport);
        CHECK(simulated_network_of(transport).empty());
    });
    CHECK(said_to(all) == std::vector<std::string>{"0 a disk", "0 plain", "0 metered", "0 group"});
}

TEST_CASE("a simulated network is told by its figures") {
    simulated_options network{.seed = 3};
    network.line = {.out = 1e6, .in = 2e6, .latency = std::chrono::milliseconds(5)};
    network.machine = {.flops = 1e9, .bytes = 2e9};
    CHECK(describe(network) ==
          "8 Mbit/s of payload out and 16 in, latency 5 ms, seed 3; each rank 1 Gflop/s and 2 GB/s "
          "of memory");
    network.slowness = speeds::one_slow{.rank = 1, .factor = 2.5};
    network.faults = {network_fault::crash(1, std::chrono::seconds(1))};
    CHECK(describe(network).ends_with(", rank 1 2.5 times slower, faults: 1"));
    network.lines = {network.line, {.out = 3e6, .in = 2e6, .latency = {}}};
    CHECK(describe(network).starts_with(
        "8 to 24 Mbit/s of payload out and 16 in, latency 0 to 5 ms, seed 3; "));
}
