// All-reduce and all-gather by MPI: the same arguments, data, rounds and output as all_reduce.cpp.
// Which algorithm and which network MPI takes is told to mpirun; --algorithms is only what it is
// called in the output. See network.py, which builds and runs it.

#include <mpi.h>

#include <cstdio>
#include <exception>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "../timed_rounds.hpp"

namespace {

using bench::contestant, bench::place, bench::settings;

void require(int code) {
    if (code != MPI_SUCCESS) throw std::runtime_error("MPI error " + std::to_string(code));
}

void barrier() {
    require(MPI_Barrier(MPI_COMM_WORLD));
}

void measure_all_reduce(const settings& s, const std::string& name, place where,
                        std::int64_t bytes) {
    bench::summed_values data(bytes, where);
    const int n = static_cast<int>(data.values().size());
    const std::vector<contestant> contestants{
        {name, [&] {
             require(MPI_Allreduce(MPI_IN_PLACE, data.values().data(), n, MPI_FLOAT, MPI_SUM,
                                   MPI_COMM_WORLD));
         }}};
    bench::measure(
        s, where, bytes, contestants, [&] { data.prepare(); }, barrier,
        [&](std::size_t, int operations) { data.check(operations); });
}

void measure_all_gather(const settings& s, const std::string& name, place where,
                        std::int64_t bytes) {
    const auto ranks = static_cast<std::size_t>(where.size), each = static_cast<std::size_t>(bytes);
    bench::gathered_bytes data(bytes, where);
    std::vector<char> all(ranks * each);
    const std::vector<int> counts(ranks, static_cast<int>(bytes));
    std::vector<int> starts(ranks);
    for (std::size_t rank = 0; rank < ranks; ++rank) starts[rank] = static_cast<int>(rank * each);
    const std::vector<contestant> contestants{
        {name, [&] {
             require(MPI_Allgatherv(data.own().data(), counts[0], MPI_BYTE, all.data(),
                                    counts.data(), starts.data(), MPI_BYTE, MPI_COMM_WORLD));
         }}};
    bench::measure(
        s, where, bytes, contestants, [&] { data.prepare(); }, barrier,
        [&](std::size_t, int) {
            data.check([&](int rank) {
                return std::span(all).subspan(static_cast<std::size_t>(rank) * each, each);
            });
        });
}

}  // namespace

int main(int count, char** arguments) try {
    settings s;
    CLI::App app{"All-reduce and all-gather by MPI"};
    s.add_to(app);
    CLI11_PARSE(app, count, arguments);
    require(MPI_Init(&count, &arguments));
    place where;
    require(MPI_Comm_rank(MPI_COMM_WORLD, &where.rank));
    require(MPI_Comm_size(MPI_COMM_WORLD, &where.size));
    const std::string name =
        "Open MPI " + (s.algorithms.empty() ? std::string("default") : s.algorithms.front());
    for (const std::int64_t bytes : s.sizes)
        if (s.operation == "all_gather")
            measure_all_gather(s, name, where, bytes);
        else
            measure_all_reduce(s, name, where, bytes);
    require(MPI_Finalize());
} catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
