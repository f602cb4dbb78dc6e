// How many pushes a parameter server takes in a second, where workers push what was recorded:
//   --part messages   a server and its workers, each a process, over TCP on loopback
//   --part bare       the same bytes there and back by plain sockets that do nothing else
//   --part memory     one process without messages: what a push costs beside the memory it touches
// One line of JSON. The parameters that a server ends with are compared with a plain computation
// from its log of pushes, and with what all workers are sent in the end.

#include "sotto/strategies/parameter_server.hpp"

#include <CLI/CLI.hpp>
#define XXH_INLINE_ALL  // it is used by its header alone
#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "bare_exchange.hpp"
#include "forked.hpp"
#include "recorded_pushes.hpp"
#include "sotto/compressors/dgc.hpp"
#include "sotto/compressors/none.hpp"
#include "sotto/core/detail/memory/large_pages.hpp"
#include "sotto/staleness/delay_compensation_adaptive.hpp"
#include "sotto/transports/tcp.hpp"
#include "timed_rounds.hpp"
#include "touched_memory.hpp"

namespace {

struct settings {
    std::string part = "messages", compressor = "none", compensator = "none";
    std::int64_t weights = 25'000'000;
    int tensors = 10, workers = 2, rounds = 20, warm_up = 4, recorded = 4;
    double density = 0.001;
    std::uint16_t port = 20000;

    bool adapts() const { return compensator != "none"; }
};

template <class Compensator, class Compressor>
auto strategy(const Compensator& compensator, const Compressor& compressor) {
    return sotto::parameter_server{sotto::sgd{.learning_rate = bench::step_options{}.rate},
                                   sotto::asynchronous{}, compensator, compressor,
                                   sotto::serving{.servers = 1, .dedicated = true}};
}

/// All workers' recordings.
template <class Compressor>
std::vector<std::vector<bench::recorded_push>> record_all(const settings& s,
                                                          const Compressor& compressor,
                                                          const sotto::layout& tensors) {
    std::vector<std::vector<bench::recorded_push>> made;
    for (int w = 0; w < s.workers; ++w)
        made.push_back(bench::record(compressor, tensors, w, s.recorded));
    return made;
}

/// Throws unless `found` is what the pushes of this log make of the start.
template <class Compressor>
void check(const settings& s, const Compressor& options, const sotto::layout& tensors,
           const std::vector<std::vector<bench::recorded_push>>& recorded,
           std::span<const sotto::detail::served_push> log, std::span<const float> found) {
    if (log.size() != static_cast<std::size_t>(s.workers * (s.rounds + s.warm_up)))
        throw std::runtime_error("the server's log has " + std::to_string(log.size()) + " pushes");
    auto compressor = options.bind(tensors);
    bench::plain_server plain({.adaptive = s.adapts()}, bench::starting_parameters(s.weights),
                              s.workers);
    std::vector<float> gradient(static_cast<std::size_t>(s.weights));
    plain.replay(log, [&](const sotto::detail::served_push& p, auto&& visit) {
        const auto& of_worker = recorded[static_cast<std::size_t>(p.worker)];
        const bench::recorded_push& push = of_worker[p.round % of_worker.size()];
        sotto::detail::compressing::begin_round(compressor, {.rank = p.worker, .share = 1.0});
        for (const sotto::tensor& t : tensors) {
            const auto at = static_cast<std::size_t>(t.offset);
            const sotto::byte_view message = push.message(static_cast<std::size_t>(t.index));
            if constexpr (sotto::detail::sparse<Compressor>) {
                const sotto::detail::sparse_view entries = compressor.decode(t, message);
                for (std::size_t k = 0; k < entries.indices.size(); ++k)
                    visit(at + entries.indices[k], entries.values[k]);
            } else {
                const auto g = t.of(std::span(gradient));
                std::fill(g.begin(), g.end(), 0.0f);
                compressor.decode_add(t, message, g);
                for (std::size_t i = 0; i < g.size(); ++i) visit(at + i, g[i]);
            }
        }
    });
    plain.require_alike(found);
}

nlohmann::json head_of(const settings& s) {
    return {{"part", s.part},       {"compressor", s.compressor}, {"compensator", s.compensator},
            {"weights", s.weights}, {"tensors", s.tensors},       {"workers", s.workers},
            {"rounds", s.rounds}};
}

// Over TCP

template <class Options>
void serve(const settings& s, const Options& options, sotto::tcp& through, int tells) {
    const sotto::layout tensors = bench::equal_tensors(s.weights, s.tensors);
    const sotto::detail::server_roles roles(1, true, 0, s.workers + 1);
    const sotto::detail::shard all = sotto::detail::shards_of(tensors, 1).front();
    sotto::detail::server_node serving(options, tensors, all, roles, through);
    const std::vector<float> start = bench::starting_parameters(s.weights);
    through.reserve(4 + 2 * (s.workers + 1) + 1);
    through.agree(true);  // everybody has recorded
    serving.begin(start);
    std::vector<float> last(start.size());
    sotto::detail::server_link own_link(through, 0, std::span(last), sotto::duration::zero());
    own_link.push({.kind = sotto::detail::wire::push_kind::done}, {});  // it does not work
    const double used = bench::processor_seconds();
    while (true) {
        const std::uint64_t seen = through.activity();
        serving.serve();
        if (own_link.advance() && serving.is_over()) break;
        if (through.activity() == seen) through.await(seen);
    }
    const double processor = bench::processor_seconds() - used;
    through.agree(true);  // nobody leaves while another still measures
    const auto own = serving.server().own();
    check(s, options.compressor, tensors, record_all(s, options.compressor, tensors),
          serving.server().log(), own);
    bench::tell(tells, nlohmann::json{{"parameters", XXH3_64bits(own.data(), own.size_bytes())},
                                      {"processor", processor}}
                           .dump());
}

template <class Options>
void work(const settings& s, const Options& options, sotto::tcp& through, int tells) {
    const sotto::layout tensors = bench::equal_tensors(s.weights, s.tensors);
    const int worker = through.rank() - 1;
    const auto recorded = bench::record(options.compressor, tensors, worker, s.recorded);
    sotto::detail::large_vector<float> values(static_cast<std::size_t>(s.weights));
    sotto::detail::server_link link(through, 0, std::span(values), sotto::duration::zero());
    through.reserve(8);
    const auto finish = [&] {
        while (true) {
            const std::uint64_t seen = through.activity();
            if (link.advance()) return;
            if (through.activity() == seen) through.await(seen);
        }
    };
    // The link keeps one message; the recorded ones take its place in turns.
    std::vector<sotto::bytes> contents;
    for (const bench::recorded_push& push : recorded) contents.push_back(push.content);
    through.agree(true);
    link.push({.kind = sotto::detail::wire::push_kind::attach}, {});
    finish();
    double began = 0.0;
    std::vector<double> seconds;
    for (int round = 0; round < s.warm_up + s.rounds; ++round) {
        const auto which = static_cast<std::size_t>(round) % recorded.size();
        const double start = bench::seconds_now();
        if (round == s.warm_up) began = start;
        link.message().swap(contents[which]);
        link.push({.kind = sotto::detail::wire::push_kind::gradient,
                   .round = static_cast<std::uint64_t>(round),
                   .clock = static_cast<std::uint64_t>(round) + 1},
                  recorded[which].sizes);
        finish();
        link.message().swap(contents[which]);
        if (round >= s.warm_up) seconds.push_back(bench::seconds_now() - start);
    }
    const double ended = bench::seconds_now();
    link.push({.kind = sotto::detail::wire::push_kind::done}, {});
    finish();
    through.agree(true);
    bench::tell(tells, nlohmann::json{{"began", began},
                                      {"ended", ended},
                                      {"seconds", bench::median(seconds)},
                                      {"push_bytes", contents.front().size()},
                                      {"parameters",
                                       XXH3_64bits(values.data(), values.size() * sizeof(float))}}
                           .dump());
}

template <class Options>
nlohmann::json measure_messages(const settings& s, const Options& options) {
    const auto rank = [&](int number) {
        return bench::forked([&, number](int tells) {
            sotto::tcp_options place;
            place.rank = number;
            place.size = s.workers + 1;
            place.port = s.port;
            place.timeout = std::chrono::minutes(10);  // recording takes its time
            sotto::tcp through = sotto::tcp::join(place);
            number == 0 ? serve(s, options, through, tells) : work(s, options, through, tells);
        });
    };
    std::vector<bench::forked> ranks;
    for (int number = 0; number <= s.workers; ++number) ranks.push_back(rank(number));
    std::vector<nlohmann::json> told;
    for (bench::forked& r : ranks) {
        while (!r.closed()) r.read();
        if (r.wait() != 0 || r.lines().size() != 1)
            throw std::runtime_error("a rank did not finish its work");
        told.push_back(nlohmann::json::parse(r.lines().front()));
        if (told.back()["parameters"] != told.front()["parameters"])
            throw std::runtime_error("a worker ended with other parameters than the server");
    }
    nlohmann::json found = head_of(s);
    double began = told[1]["began"], ended = told[1]["ended"], longest = 0.0;
    for (std::size_t w = 1; w < told.size(); ++w) {
        began = std::min<double>(began, told[w]["began"]);
        ended = std::max<double>(ended, told[w]["ended"]);
        longest = std::max<double>(longest, told[w]["seconds"]);
    }
    found["push_bytes"] = told[1]["push_bytes"];
    found["round_trip"] = longest;
    found["server_seconds"] =
        told.front()["processor"].get<double>() / (s.workers * (s.warm_up + s.rounds));
    found["pushes_per_second"] = s.workers * s.rounds / (ended - began);
    return found;
}

nlohmann::json measure_bare(const settings& s) {
    const std::size_t bytes = static_cast<std::size_t>(s.weights) * sizeof(float);
    const auto took = bench::bare_exchange(bytes, s.workers, s.warm_up, s.rounds, s.port);
    nlohmann::json found = head_of(s);
    found["push_bytes"] = bytes;
    found["pushes_per_second"] = s.workers * s.rounds / took.all;
    found["server_seconds"] = took.of_processor;
    return found;
}

// Without messages

template <class Options>
nlohmann::json measure_memory(const settings& s, const Options& options) {
    using compressor_options = std::remove_cvref_t<decltype(options.compressor)>;
    constexpr bool is_sparse = sotto::detail::sparse<compressor_options>;
    const sotto::layout tensors = bench::equal_tensors(s.weights, s.tensors);
    auto recorded = record_all(s, options.compressor, tensors);
    sotto::detail::shard_server server(options, tensors,
                                       sotto::detail::shards_of(tensors, 1).front(), s.workers);
    server.begin(bench::starting_parameters(s.weights));
    std::vector<std::uint64_t> read(static_cast<std::size_t>(s.workers));
    std::vector<double> answers;
    const auto answer = [&] {
        const double start = bench::seconds_now();
        while (const auto a = server.next_answer({}))
            read[static_cast<std::size_t>(a->worker)] = a->head.version;
        answers.push_back(bench::seconds_now() - start);
    };
    for (int w = 0; w < s.workers; ++w) server.expect(w);
    for (int w = 0; w < s.workers; ++w) server.attach(w);
    answer();

    bench::touched_memory memory(static_cast<std::size_t>(s.weights), s.adapts());
    auto decoder = options.compressor.bind(tensors);
    std::vector<std::vector<std::uint32_t>> indices;  // of the first worker's pushes
    if constexpr (is_sparse)
        for (const bench::recorded_push& push : recorded.front()) {
            indices.emplace_back();
            for (const sotto::tensor& t : tensors)
                for (const auto i :
                     decoder.decode(t, push.message(static_cast<std::size_t>(t.index))).indices)
                    indices.back().push_back(static_cast<std::uint32_t>(t.offset) + i);
        }

    std::vector<double> seconds, floors;
    for (int round = 0; round < s.warm_up + s.rounds; ++round)
        for (int w = 0; w < s.workers; ++w) {
            auto& of_worker = recorded[static_cast<std::size_t>(w)];
            const auto which = static_cast<std::size_t>(round) % of_worker.size();
            bench::recorded_push& push = of_worker[which];
            sotto::detail::wire::write_push_head({.kind = sotto::detail::wire::push_kind::gradient,
                                                  .round = static_cast<std::uint64_t>(round),
                                                  .read = read[static_cast<std::size_t>(w)],
                                                  .clock = static_cast<std::uint64_t>(round) + 1},
                                                 push.sizes, push.content.data());
            const double start = bench::seconds_now();
            server.push(w, push.content, {});
            const double took = bench::seconds_now() - start;
            answer();
            const double floor = is_sparse ? memory.touch_lines(indices[which], push.content)
                                           : memory.touch_all(push.content);
            if (round < s.warm_up) continue;
            seconds.push_back(took);
            floors.push_back(floor);
        }
    check(s, options.compressor, tensors, recorded, server.log(), server.own());
    const double lines = is_sparse
                             ? memory.lines_of(indices.front(), recorded.front().front().content)
                             : memory.lines_of_all();
    const double floor = bench::median(floors);
    nlohmann::json found = head_of(s);
    found["seconds"] = bench::median(seconds);
    found["least"] = *std::min_element(seconds.begin(), seconds.end());
    found["answer"] = bench::median(answers);
    found["lines"] = lines;
    found["arrays"] = memory.arrays(is_sparse);
    found["bandwidth"] = 64.0 * lines / floor;
    found["floor"] = floor;
    found["least_floor"] = *std::min_element(floors.begin(), floors.end());
    return found;
}

template <class Options>
nlohmann::json measure(const settings& s, const Options& options) {
    return s.part == "memory" ? measure_memory(s, options) : measure_messages(s, options);
}

template <class Compressor>
nlohmann::json measure_with(const settings& s, const Compressor& compressor) {
    const bench::step_options how;
    if (!s.adapts()) return measure(s, strategy(sotto::no_compensation{}, compressor));
    const sotto::delay_compensation_adaptive adaptive{
        .lambda = how.lambda, .decay = how.decay, .epsilon = how.epsilon};
    return measure(s, strategy(adaptive, compressor));
}

}  // namespace

int main(int count, char** arguments) try {
    settings s;
    CLI::App app{"How many recorded pushes a parameter server takes"};
    app.add_option("--part", s.part)->check(CLI::IsMember({"messages", "bare", "memory"}));
    app.add_option("--compressor", s.compressor)->check(CLI::IsMember({"none", "dgc"}));
    app.add_option("--compensator", s.compensator)->check(CLI::IsMember({"none", "adaptive"}));
    app.add_option("--weights", s.weights)->check(CLI::Range(1000, 1 << 28));
    app.add_option("--tensors", s.tensors, "Of equal size")->check(CLI::Range(1, 100));
    app.add_option("--density", s.density, "Of dgc");
    app.add_option("--workers", s.workers)->check(CLI::Range(1, 16));
    app.add_option("--recorded", s.recorded, "Pushes of each worker, which take turns")
        ->check(CLI::PositiveNumber);
    app.add_option("--rounds", s.rounds, "Pushes of each worker that count")
        ->check(CLI::PositiveNumber);
    app.add_option("--warm-up", s.warm_up, "Pushes before them")->check(CLI::NonNegativeNumber);
    app.add_option("--port", s.port);
    CLI11_PARSE(app, count, arguments);
    const nlohmann::json found =
        s.part == "bare" ? measure_bare(s)
        : s.compressor == "none"
            ? measure_with(s, sotto::none{})
            : measure_with(
                  s, sotto::dgc{.density = s.density, .momentum = 0.9, .warm_up_epochs = 0.0});
    std::puts(found.dump().c_str());
} catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
