// Adds up floats over all ranks by TCP, again and again, and prints what it took:
//   SOTTO_RANK=.. SOTTO_SIZE=.. SOTTO_ADDRESS=.. bench_network_all_reduce BYTES...
// One line for each number of bytes: bytes, batches, the median of the batches' seconds an
// operation on this rank. Every sum is checked.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <vector>

#include "sotto/collectives/all_reduce.hpp"
#include "sotto/collectives/operation.hpp"
#include "sotto/launch/environment.hpp"
#include "sotto/transports/tcp.hpp"

namespace {

constexpr int batches = 9;

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

/// Seconds an operation, of so many in a row.
double time_batch(sotto::tcp& through, sotto::collectives::all_reduce<sotto::tcp>& sum,
                  std::vector<float>& values, std::int64_t operations, std::uint64_t& round) {
    const int world = through.size();
    through.agree(true);
    double seconds = 0.0;
    for (std::int64_t i = 0; i < operations; ++i) {
        std::fill(values.begin(), values.end(), static_cast<float>(through.rank() + 1));
        const auto start = std::chrono::steady_clock::now();
        sum.start(values, {1, 0, round++});
        sotto::collectives::run(through, sum);
        seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        const auto expected = static_cast<float>(world * (world + 1) / 2);
        if (values.front() != expected || values.back() != expected) {
            std::fprintf(stderr, "wrong sum: %g\n", static_cast<double>(values.front()));
            std::exit(1);
        }
    }
    return seconds / static_cast<double>(operations);
}

}  // namespace

int main(int count, char** arguments) try {
    sotto::tcp through = sotto::tcp::join(sotto::launch::from_environment());
    std::uint64_t round = 0;
    for (int i = 1; i < count; ++i) {
        const std::int64_t bytes = std::atoll(arguments[i]);
        std::vector<float> values(static_cast<std::size_t>(bytes / 4));
        sotto::collectives::all_reduce<sotto::tcp> sum(through, bytes / 4);
        const std::int64_t operations = std::clamp<std::int64_t>((1 << 25) / bytes, 2, 1000);
        std::vector<double> seconds;
        time_batch(through, sum, values, operations, round);
        for (int batch = 0; batch < batches; ++batch)
            seconds.push_back(time_batch(through, sum, values, operations, round));
        if (through.rank() == 0)
            std::printf("%lld %d %.9f\n", static_cast<long long>(bytes), batches, median(seconds));
    }
} catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
