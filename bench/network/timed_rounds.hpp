#pragma once

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

// Shared by sotto's programs and its peers': the same arguments, data, rounds, checks and output.

namespace bench {

/// What is measured, with which algorithms of the library's, how often, and for which sizes.
struct settings {
    std::string operation = "all_reduce";
    std::vector<std::string> algorithms;  // empty: all that there are
    int rounds = 9, warm_up = 2;
    std::vector<std::int64_t> sizes;  // bytes

    void add_to(CLI::App& app) {
        app.add_option("--operation", operation)
            ->check(CLI::IsMember({"all_reduce", "all_gather"}));
        app.add_option("--algorithms", algorithms, "Else all that there are")->delimiter(',');
        app.add_option("--rounds", rounds)->check(CLI::PositiveNumber);
        app.add_option("--warm-up", warm_up, "Rounds that do not count")
            ->check(CLI::NonNegativeNumber);
        app.add_option("sizes", sizes, "Bytes: of all_reduce in all, of all_gather a rank")
            ->required()
            ->check(CLI::Range(std::int64_t{64}, std::int64_t{1} << 28));
    }

    bool wants(const std::string& algorithm) const {
        return algorithms.empty() ||
               std::find(algorithms.begin(), algorithms.end(), algorithm) != algorithms.end();
    }
};

struct place {
    int rank = 0;
    int size = 1;
};

/// One library's way to do the operation. A round is `prepare`, a barrier, `run` as often as a
/// round has operations, and `check`, which throws; only `run` counts.
struct contestant {
    std::string name;
    std::function<void()> run;
};

/// Of one round: as many as fill some milliseconds with a quick library, but so few that sums of
/// sums stay within a float.
inline int operations_of(std::int64_t bytes, int world) {
    const int most = static_cast<int>(200.0 / std::log2(std::max(world, 2)));
    return static_cast<int>(std::clamp<std::int64_t>((1 << 22) / bytes, 1, std::min(60, most)));
}

/// Floats that are added up over all ranks, and their sum again, and so on: every result has a
/// closed form.
///   math    rank r begins with (r + 1) (1 + i mod 7) 2^-100 at place i; after m sums over N ranks
///           every rank has N (N + 1) / 2 (1 + i mod 7) N^(m - 1) 2^-100. Exact where N is a power
///           of 2
class summed_values {
public:
    summed_values(std::int64_t bytes, place where)
        : where_(where), values_(static_cast<std::size_t>(bytes / 4)) {}

    std::vector<float>& values() noexcept { return values_; }

    void prepare() { fill(where_.rank + 1.0); }

    void check(int operations) const {
        const double ranks = where_.size;
        const double factor = 0.5 * ranks * (ranks + 1.0) * std::pow(ranks, operations - 1);
        const double rounding = std::exp2(-24.0) * where_.size * operations;
        for (std::size_t i = 0; i < values_.size(); ++i) {
            const double expected = at(i, factor), found = static_cast<double>(values_[i]);
            if (!(std::abs(found - expected) <= rounding * expected))
                throw std::runtime_error("wrong sum at " + std::to_string(i) + " of " +
                                         std::to_string(values_.size()) + ": " +
                                         std::to_string(found / expected) + " of what it is");
        }
    }

private:
    static double at(std::size_t i, double factor) noexcept {
        return factor * static_cast<double>(1 + i % 7) * 0x1p-100;
    }

    void fill(double factor) noexcept {
        for (std::size_t i = 0; i < values_.size(); ++i)
            values_[i] = static_cast<float>(at(i, factor));
    }

    place where_;
    std::vector<float> values_;
};

/// Bytes that are gathered from all ranks: byte i of rank r in round m is a hash of all three.
class gathered_bytes {
public:
    gathered_bytes(std::int64_t bytes, place where)
        : where_(where), own_(static_cast<std::size_t>(bytes)) {}

    std::vector<char>& own() noexcept { return own_; }

    void prepare() {
        ++round_;
        for (std::size_t i = 0; i < own_.size(); ++i) own_[i] = at(where_.rank, i);
    }

    /// `block_of(rank)` is where that rank's bytes are, and how many there are.
    template <class BlockOf>
    void check(BlockOf block_of) const {
        for (int rank = 0; rank < where_.size; ++rank) {
            const auto block = block_of(rank);
            bool right = block.size() == own_.size();
            for (std::size_t i = 0; right && i < own_.size(); ++i)
                right = static_cast<char>(block[i]) == at(rank, i);
            if (!right)
                throw std::runtime_error("rank " + std::to_string(where_.rank) +
                                         " gathered something else than what rank " +
                                         std::to_string(rank) + " has");
        }
    }

private:
    char at(int rank, std::size_t i) const noexcept {
        std::uint64_t x = i ^ static_cast<std::uint64_t>(rank) << 40 ^ round_ << 48;
        x *= 0x9e3779b97f4a7c15;
        return static_cast<char>(x >> 56);
    }

    place where_;
    std::uint64_t round_ = 0;
    std::vector<char> own_;
};

/// The middle one; of an even number the higher of the two.
inline double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

/// One line of JSON for each contestant: this rank's seconds an operation in each round. Whoever
/// reads all ranks' lines takes the slowest rank of each.
inline void print(const settings& s, place where, std::int64_t bytes, int operations,
                  const std::string& name, const std::vector<double>& seconds) {
    std::printf(
        "{\"contestant\": \"%s\", \"operation\": \"%s\", \"bytes\": %lld, \"ranks\": %d, "
        "\"rank\": %d, \"operations\": %d, \"median\": %.9f, \"seconds\": [",
        name.c_str(), s.operation.c_str(), static_cast<long long>(bytes), where.size, where.rank,
        operations, median(seconds));
    for (std::size_t i = 0; i < seconds.size(); ++i)
        std::printf("%s%.9f", i == 0 ? "" : ", ", seconds[i]);
    std::puts("]}");
    std::fflush(stdout);
}

/// All contestants take turns; every round begins with another one.
template <class Prepare, class Barrier, class Check>
void measure(const settings& s, place where, std::int64_t bytes,
             const std::vector<contestant>& contestants, Prepare prepare, Barrier barrier,
             Check check) {
    using clock = std::chrono::steady_clock;
    // What a shaped link that was idle sends at once must be little beside what a round sends.
    const int operations =
        s.operation == "all_gather"
            ? static_cast<int>(std::clamp<std::int64_t>((1 << 24) / (bytes * where.size), 1, 60))
            : operations_of(bytes, where.size);
    std::vector<std::vector<double>> seconds(contestants.size());
    for (int round = -s.warm_up; round < s.rounds; ++round)
        for (std::size_t turn = 0; turn < contestants.size(); ++turn) {
            const std::size_t which =
                (turn + static_cast<std::size_t>(round + s.warm_up)) % contestants.size();
            prepare();
            barrier();
            const auto start = clock::now();
            for (int i = 0; i < operations; ++i) contestants[which].run();
            const double took = std::chrono::duration<double>(clock::now() - start).count();
            barrier();  // nobody's check takes the processor of one that is under way
            check(which, operations);
            if (round >= 0) seconds[which].push_back(took / operations);
        }
    for (std::size_t which = 0; which < contestants.size(); ++which)
        print(s, where, bytes, operations, contestants[which].name, seconds[which]);
}

}  // namespace bench
