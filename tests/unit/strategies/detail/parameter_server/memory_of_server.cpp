#include "sotto/strategies/detail/parameter_server/memory_of_server.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sotto/compressors/dgc.hpp"
#include "sotto/compressors/error_feedback.hpp"
#include "sotto/compressors/none.hpp"
#include "sotto/compressors/power_sgd.hpp"
#include "sotto/compressors/qsgd.hpp"
#include "sotto/compressors/random_k.hpp"
#include "sotto/compressors/residual.hpp"
#include "sotto/compressors/scaled_sign.hpp"
#include "sotto/compressors/sparsified.hpp"
#include "sotto/compressors/top_k.hpp"
#include "sotto/strategies/parameter_server/consistency/asynchronous.hpp"
#include "sotto/strategies/parameter_server/consistency/bulk_synchronous.hpp"
#include "sotto/optimizers/adamw.hpp"
#include "sotto/optimizers/momentum_sgd.hpp"
#include "sotto/staleness/delay_compensation.hpp"
#include "sotto/staleness/delay_compensation_adaptive.hpp"
#include "sotto/staleness/gap_aware.hpp"
#include "sotto/strategies/parameter_server.hpp"
#include "sotto/strategies/detail/parameter_server/shard_server.hpp"
#include "support/allocation_count.hpp"
#include "support/generators.hpp"

using namespace sotto;
using namespace sotto::testing;

namespace {

constexpr std::int64_t names_and_tables = 32 << 10;  // what does not grow with the parameters

layout eight_layers() {
    layout made;
    for (int l = 0; l < 8; ++l) {
        const std::string name = "layer " + std::to_string(l);
        made.add(name, {128, 256}).add(name + " bias", {128}, tensor_kind::bias);
    }
    return made;
}

/// One server's account and what it took, when three workers have pushed six gradients.
struct account {
    detail::server_memory said;
    std::int64_t taken = 0;  // without the memory in which pushes are received
};

template <class Options>
account account_of(const Options& options, int servers) {
    constexpr int workers = 3;
    const layout tensors = eight_layers();
    const detail::shard part = detail::shards_of(tensors, servers).front();
    auto worker = options.compressor.bind(tensors);
    const auto n = static_cast<std::size_t>(tensors.size());
    const std::vector<float> start(n, 0.5f), gradient = normal_values(tensors.size(), 1);
    std::vector<std::uint64_t> read(workers), rounds(workers);

    bytes push;
    const support::allocation_count count;
    detail::shard_server<Options> server(options, tensors, part, workers);
    account made{.said = memory_of(server, options, workers)};
    server.begin(start);
    for (int w = 0; w < workers; ++w) server.expect(w);
    for (int w = 0; w < workers; ++w) server.attach(w);
    const auto answer = [&] {
        while (const auto a = server.next_answer({}))
            read[static_cast<std::size_t>(a->worker)] = a->head.version;
    };
    answer();
    for (const int w : {0, 1, 2, 0, 2, 1}) {
        push.resize(detail::wire::push_head_bytes(part.tensors()));
        std::vector<std::uint64_t> sizes;
        detail::compressing::begin_round(worker, {});
        detail::compressing::measure(worker, tensors, gradient);
        for (const tensor& t : part.of(tensors)) {
            const std::size_t before = push.size();
            worker.encode(t, t.of(std::span<const float>(gradient)), push);
            sizes.push_back(push.size() - before);
        }
        detail::compressing::commit(worker);
        const auto at = static_cast<std::size_t>(w);
        detail::wire::write_push_head({.kind = detail::wire::push_kind::gradient,
                                       .round = rounds[at]++,
                                       .read = read[at],
                                       .clock = rounds[at]},
                                      sizes, push.data());
        server.push(w, push, {});
        answer();
    }
    bytes().swap(push);
    made.taken = count.bytes_more();
    made.said.messages -= push_bytes_max(server);
    return made;
}

}  // namespace

TEST_CASE("a server takes no more memory than it says, and one of two about half of it") {
    if (!support::allocation_count::works) {
        MESSAGE("skipped: allocations are not counted here");
        return;
    }
    const auto check = [](const auto& options) {
        const account one = account_of(options, 1), first_of_two = account_of(options, 2);
        CHECK(one.taken <= one.said.together() + names_and_tables);
        CHECK(first_of_two.taken <= first_of_two.said.together() + names_and_tables);
        CHECK(first_of_two.taken < 0.6 * static_cast<double>(one.taken) + names_and_tables);
        CHECK(first_of_two.said.together() < 0.6 * static_cast<double>(one.said.together()));
    };
    const asynchronous any{};
    const no_compensation as_it_is{};
    check(parameter_server{sgd{}});
    check(parameter_server{sgd{}, bulk_synchronous{}});
    check(parameter_server{adamw{}, any, delay_compensation{}});
    check(parameter_server{momentum_sgd{}, any, gap_aware{}});
    check(parameter_server{sgd{}, any, as_it_is, dgc{.density = 0.01}});
    check(parameter_server{sgd{}, any, delay_compensation_adaptive{}, dgc{.density = 0.05}});
    check(parameter_server{sgd{}, any, as_it_is, sparsified{top_k{.density = 0.01}, residual{}}});
    check(parameter_server{sgd{}, bulk_synchronous{}, as_it_is, random_k{.density = 0.1}});
    check(parameter_server{sgd{}, any, as_it_is, error_feedback{scaled_sign{}}});
    check(parameter_server{sgd{}, any, gap_aware{}, qsgd{}});
    check(parameter_server{sgd{}, any, as_it_is, power_sgd{}});
}

TEST_CASE("what workers remember takes no memory of a server") {
    const auto taken = [](const auto& compressor) {
        return account_of(parameter_server{sgd{}, asynchronous{}, no_compensation{}, compressor}, 1)
            .said.together();
    };
    CHECK(taken(sparsified{top_k{.density = 0.01}, residual{}}) == taken(top_k{.density = 0.01}));
    CHECK(taken(dgc{.density = 0.01, .warm_up_epochs = 0.0}) == taken(top_k{.density = 0.01}));
}
