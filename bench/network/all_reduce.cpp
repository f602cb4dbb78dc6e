// Adds up floats over all ranks by TCP, or gathers bytes of all: see timed_rounds.hpp for what is
// measured. Where it runs it learns from the environment:
//   SOTTO_RANK=.. SOTTO_SIZE=.. SOTTO_ADDRESS=.. bench_network_all_reduce [options] BYTES...
// Its peers in peers/ take the same arguments; see network.py, which runs all of them.

#include "sotto/collectives/all_reduce.hpp"

#include <cstdio>
#include <exception>
#include <list>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "join.hpp"
#include "sotto/collectives/detail/all_gather_v.hpp"
#include "sotto/collectives/detail/operation.hpp"
#include "sotto/transports/tcp.hpp"
#include "timed_rounds.hpp"

namespace {

using bench::contestant, bench::place, bench::settings;
namespace collectives = sotto::collectives;

constexpr std::uint32_t channel = 16;

void measure_all_reduce(const settings& s, sotto::tcp& through, std::int64_t bytes,
                        std::uint64_t& round) {
    using sotto::detail::collectives::algorithm;
    const place where{through.rank(), through.size()};
    bench::summed_values data(bytes, where);
    std::list<sotto::detail::collectives::all_reduce> sums;
    std::vector<contestant> contestants;
    for (const auto& [name, which] :
         {std::pair{"automatic", sotto::detail::collectives::algorithm::automatic},
          {"ring", sotto::detail::collectives::algorithm::ring},
          {"tree", sotto::detail::collectives::algorithm::tree},
          {"halving_doubling", sotto::detail::collectives::algorithm::halving_doubling},
          {"recursive_doubling", sotto::detail::collectives::algorithm::recursive_doubling}}) {
        if (!s.wants(name)) continue;
        auto& sum = sums.emplace_back(through, bytes / 4, which);
        contestants.push_back({std::string("sotto ") + name, [&] {
                                   sum.start(data.values(), {channel, 0, round++});
                                   sotto::detail::collectives::run(through, sum);
                               }});
    }
    bench::measure(
        s, where, bytes, contestants, [&] { data.prepare(); }, [&] { through.agree(true); },
        [&](std::size_t, int operations) { data.check(operations); });
}

void measure_all_gather(const settings& s, sotto::tcp& through, std::int64_t bytes,
                        std::uint64_t& round) {
    using sotto::detail::collectives::route;
    const place where{through.rank(), through.size()};
    bench::gathered_bytes data(bytes, where);
    std::vector<sotto::detail::collectives::all_gather_v> gathers;
    gathers.reserve(3);
    std::vector<contestant> contestants;
    for (const auto& [name, way] :
         {std::pair{"automatic", sotto::detail::collectives::route::automatic},
          {"ring", sotto::detail::collectives::route::ring},
          {"direct", sotto::detail::collectives::route::direct}}) {
        if (!s.wants(name)) continue;
        auto& gather = gathers.emplace_back(through, bytes, way);
        contestants.push_back(
            {std::string("sotto ") + name, [&] {
                 gather.start(std::as_bytes(std::span(data.own())), {channel, 1, round++});
                 sotto::detail::collectives::run(through, gather);
             }});
    }
    bench::measure(
        s, where, bytes, contestants, [&] { data.prepare(); }, [&] { through.agree(true); },
        [&](std::size_t which, int) {
            data.check([&](int rank) { return gathers[which].block_of(rank); });
        });
}

}  // namespace

int main(int count, char** arguments) try {
    settings s;
    CLI::App app{"All-reduce and all-gather by sotto over TCP"};
    s.add_to(app);
    CLI11_PARSE(app, count, arguments);
    sotto::tcp through = sotto::tcp::join(bench::tcp_options());
    std::uint64_t round = 0;
    for (const std::int64_t bytes : s.sizes)
        if (s.operation == "all_gather")
            measure_all_gather(s, through, bytes, round);
        else
            measure_all_reduce(s, through, bytes, round);
    through.agree(true);  // nobody leaves while another still measures
} catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
