// What one training step of many ranks costs on a simulated network, by sizes alone: no weight, no
// gradient and no message has content. One line of JSON:
//   bench_network_simulated_costs [options]
// dense: the sum of all weights around a ring. dgc: everybody's entries to everybody, as messages
// of the length that the encoder gives as many places drawn at random. Either ends with the vote of
// all ranks, as a round of the strategy all_reduce does. Computing is charged as the options say.

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <exception>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "sotto/collectives/detail/all_gather_v.hpp"
#include "sotto/collectives/all_reduce.hpp"
#include "sotto/collectives/detail/operation.hpp"
#include "sotto/core/size_only.hpp"
#include "sotto/core/random.hpp"
#include "sotto/logging/detail/peak_memory.hpp"
#include "sotto/transports/run_simulated.hpp"
#include "sotto/wire/sparse_block.hpp"
#include "sotto/wire/value_format.hpp"

namespace {

using sotto::simulated, sotto::size_only;
namespace collectives = sotto::collectives;

struct settings {
    std::string exchange = "dense";
    int ranks = 4;
    std::int64_t weights = 25'000'000;
    double density = 0.001;
    double rate = 1e9;                 // bits a second
    double latency = 50e-6;            // seconds from a rank to the switch
    double memory = 10e9;              // bytes a second, of sums
    double select = 0.0, apply = 0.0;  // seconds that a rank computes before and after the exchange
    std::uint64_t seed = 1;
    std::int64_t packet = 262144;

    std::int64_t entries() const {
        return static_cast<std::int64_t>(std::ceil(density * static_cast<double>(weights)));
    }
};

/// Of a message of as many entries, at places drawn at random.
std::int64_t message_bytes(const settings& s) {
    sotto::random_stream random = sotto::random_stream(s.seed).split("places");
    std::vector<std::uint32_t> places;
    while (static_cast<std::int64_t>(places.size()) < s.entries()) {
        while (static_cast<std::int64_t>(places.size()) < s.entries())
            places.push_back(
                static_cast<std::uint32_t>(random.below(static_cast<std::uint64_t>(s.weights))));
        std::sort(places.begin(), places.end());
        places.erase(std::unique(places.begin(), places.end()), places.end());
    }
    const std::vector<float> values(places.size(), 1.0f);
    sotto::bytes message;
    sotto::wire::encode_sparse(s.weights, places, values, sotto::wire::value_format::fp32, message);
    return static_cast<std::int64_t>(message.size());
}

struct outcome {
    std::int64_t bytes_sent = 0, bytes_sent_max = 0, messages = 0;
    double seconds = 0.0;  // until all have the sum
    double voted = 0.0;    // and know that all have
};

class step {
public:
    step(const settings& s, std::int64_t message) : s_(&s), message_(message) {}

    void operator()(simulated& through) {
        const sotto::time_point start = through.now();
        if (s_->exchange == "dense")
            sum(through);
        else
            gather(through);
        found_.seconds = std::max(found_.seconds, sotto::in_seconds(through.now() - start));
        const sotto::traffic sent = through.counters();
        found_.bytes_sent += sent.bytes_sent;
        found_.bytes_sent_max = std::max(found_.bytes_sent_max, sent.bytes_sent);
        found_.messages += sent.messages_sent;
        through.agree(true);
        found_.voted = std::max(found_.voted, sotto::in_seconds(through.now() - start));
    }

    const outcome& found() const noexcept { return found_; }

private:
    void sum(simulated& through) const {
        sotto::detail::collectives::all_reduce sum(through, s_->weights,
                                                   sotto::detail::collectives::algorithm::ring);
        sum.start(size_only(static_cast<std::size_t>(s_->weights)), {16, 0, 0});
        sotto::detail::collectives::run(through, sum);
    }

    void gather(simulated& through) const {
        const std::int64_t most = sotto::wire::encoded_sparse_bytes_max(
            s_->weights, s_->entries(), sotto::wire::value_format::fp32);
        sotto::detail::collectives::all_gather_v gather(
            through, most, sotto::detail::collectives::route::automatic, false);
        compute(through, s_->select);
        gather.start(size_only<std::byte>(static_cast<std::size_t>(message_)), {16, 0, 0});
        sotto::detail::collectives::run(through, gather);
        compute(through, s_->apply);
    }

    void compute(simulated& through, double seconds) const {
        through.charge({.bytes = seconds * s_->memory});
    }

    const settings* s_;
    std::int64_t message_;
    outcome found_;  // one rank runs at a time
};

nlohmann::json measure(const settings& s) {
    sotto::simulated_options options;
    options.seed = s.seed;
    options.line = sotto::simulated_options::connection::ethernet(
        s.rate, std::chrono::nanoseconds(std::llround(s.latency * 1e9)));
    options.machine.bytes = s.memory;
    options.dead_after = {};
    options.packet = s.packet;
    const std::int64_t message = s.exchange == "dgc" ? message_bytes(s) : 0;
    step of_each(s, message);
    const auto begin = std::chrono::steady_clock::now();
    const sotto::detail::simulated_run run =
        sotto::run_simulated(s.ranks, options, std::ref(of_each));
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    const outcome& found = of_each.found();
    return {{"exchange", s.exchange},
            {"ranks", s.ranks},
            {"weights", s.weights},
            {"message", message},
            {"bytes_a_rank", static_cast<double>(found.bytes_sent) / s.ranks},
            {"bytes_of_the_busiest", found.bytes_sent_max},
            {"messages", found.messages},
            {"seconds", found.seconds},
            {"with_vote", found.voted},
            {"real_seconds", took.count()},
            {"processor_seconds", static_cast<double>(std::clock()) / CLOCKS_PER_SEC},
            {"peak_memory", sotto::detail::peak_memory_bytes()},
            {"events", run.events},
            {"trace", run.trace_hash}};
}

}  // namespace

int main(int count, char** arguments) try {
    settings s;
    CLI::App app{"One training step of many ranks on a simulated network, by sizes alone"};
    app.add_option("--exchange", s.exchange)->check(CLI::IsMember({"dense", "dgc"}));
    app.add_option("--ranks", s.ranks)->check(CLI::Range(1, 65536));
    app.add_option("--weights", s.weights);
    app.add_option("--density", s.density);
    app.add_option("--rate", s.rate, "Bits a second");
    app.add_option("--latency", s.latency, "Seconds from a rank to the switch");
    app.add_option("--memory", s.memory, "Bytes a second: a value added takes 12");
    app.add_option("--select", s.select, "Seconds before the exchange");
    app.add_option("--apply", s.apply, "Seconds after it");
    app.add_option("--seed", s.seed);
    app.add_option("--packet", s.packet, "Bytes that travel as one");
    CLI11_PARSE(app, count, arguments);
    std::puts(measure(s).dump().c_str());
} catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
