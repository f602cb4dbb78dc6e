// What memory allows, by the plainest loops there are, and by the same with prefetches: built for
// this machine. The faster of the two is the limit that a kernel is held against.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <thread>
#include <utility>

#include "timing.hpp"

namespace {

typedef std::uint32_t words __attribute__((vector_size(64)));
typedef float floats __attribute__((vector_size(64)));
constexpr std::size_t lanes = 16;  // a cache line

/// By reference: how a function returns vectors depends on the processor that it is built for.
template <class Vector>
void load(Vector& line, const void* from) noexcept {
    std::memcpy(&line, from, sizeof line);
}

/// Runs visit(i) for the start of every whole cache line; `ahead` > 0: that many bytes in front of
/// it, the arrays are fetched. Eight lines a turn, so that the loop itself costs nothing.
template <bool Prefetch, std::size_t Arrays, class Visit>
void each_line(const float* const (&arrays)[Arrays], std::size_t n, std::size_t ahead,
               Visit&& visit) noexcept {
    std::size_t i = 0;
    for (; i + 8 * lanes <= n; i += 8 * lanes) {
        for (std::size_t j = 0; j < 8; ++j) {
            if constexpr (Prefetch)
                for (const float* array : arrays)
                    __builtin_prefetch(reinterpret_cast<const char*>(array + i + j * lanes) +
                                       ahead);
            visit(i + j * lanes, j);
        }
    }
    for (; i + lanes <= n; i += lanes) visit(i, 0);
}

template <std::size_t Arrays, class Visit>
void each_line(std::int64_t ahead, const float* const (&arrays)[Arrays], std::size_t n,
               Visit&& visit) noexcept {
    if (ahead > 0)
        each_line<true>(arrays, n, static_cast<std::size_t>(ahead), visit);
    else
        each_line<false>(arrays, n, 0, visit);
}

std::uint32_t read_once(const float* x, std::size_t n, std::int64_t ahead) noexcept {
    words found[8] = {};
    const float* const arrays[] = {x};
    each_line(ahead, arrays, n, [&](std::size_t i, std::size_t j) {
        words value;
        load(value, x + i);
        found[j] |= value;
    });
    for (std::size_t j = 1; j < 8; ++j) found[0] |= found[j];
    std::uint32_t all = 0;
    for (std::size_t lane = 0; lane < lanes; ++lane) all |= found[0][lane];
    for (std::size_t i = n / lanes * lanes; i < n; ++i) {
        std::uint32_t bits;
        std::memcpy(&bits, x + i, sizeof bits);
        all |= bits;
    }
    return all;
}

/// Reads Reads arrays and writes the first Writes of them, in place. `nothing` is 0, which the
/// compiler does not know: what is written is what was there, however often it is.
template <std::size_t Reads, std::size_t Writes>
void pass(float* const* at, std::size_t n, std::int64_t ahead) noexcept {
    const float* arrays[Reads];
    for (std::size_t a = 0; a < Reads; ++a) arrays[a] = at[a];
    std::uint32_t nothing = 0;
    asm volatile("" : "+r"(nothing));
    words seen[8] = {};
    each_line(ahead, arrays, n, [&](std::size_t i, std::size_t j) {
        for (std::size_t a = 0; a < Reads; ++a) {
            words value;
            load(value, arrays[a] + i);
            value ^= nothing;
            if (a < Writes)
                std::memcpy(at[a] + i, &value, sizeof value);
            else
                seen[j] |= value;
        }
    });
    for (const words& some : seen) bench::use(some);
    // The few behind the last whole line cost nothing.
}

using pass_of_arrays = void (*)(float* const*, std::size_t, std::int64_t) noexcept;

template <std::size_t Writes, std::size_t... Reads>
pass_of_arrays choose(std::size_t reads, std::index_sequence<Reads...>) noexcept {
    constexpr pass_of_arrays passes[] = {
        pass<Reads + 1, (Writes <= Reads ? Writes : Reads + 1)>...};
    return passes[reads - 1];
}

}  // namespace

extern "C" {

const char* limits_error() {
    return bench::last_error.c_str();
}

double limit_read(const float* x, std::int64_t n, std::int64_t ahead, std::int64_t repeats) {
    return bench::seconds_of(repeats,
                             [&] { bench::use(read_once(x, static_cast<std::size_t>(n), ahead)); });
}

/// One of `parts` parts of so many bytes; they take turns.
double limit_copy(const char* from, char* to, std::int64_t bytes, std::int64_t parts,
                  std::int64_t repeats) {
    static std::int64_t turn = 0;
    return bench::seconds_of(
        repeats, [&] { ++turn; },
        [&] {
            const std::int64_t start = turn % parts * bytes;
            std::memcpy(to + start, from + start, static_cast<std::size_t>(bytes));
        });
}

/// One pass over up to eight arrays, the first up to three of which are written, too.
double limit_pass(float* const* arrays, std::int64_t reads, std::int64_t writes, std::int64_t n,
                  std::int64_t ahead, std::int64_t repeats) {
    const auto all = std::make_index_sequence<8>{};
    const auto r = static_cast<std::size_t>(reads);
    const pass_of_arrays run = writes == 0   ? choose<0>(r, all)
                               : writes == 1 ? choose<1>(r, all)
                               : writes == 2 ? choose<2>(r, all)
                                             : choose<3>(r, all);
    return bench::seconds_of(repeats, [&] { run(arrays, static_cast<std::size_t>(n), ahead); });
}

/// u = m u + g;  v += u: what a step costs that selects nothing. The two arrays are made from
/// theirs of before, which does not count.
double limit_accumulate(const float* g, float* u, float* v, const float* before_u,
                        const float* before_v, std::int64_t count, float momentum,
                        std::int64_t ahead, std::int64_t repeats) {
    const auto n = static_cast<std::size_t>(count);
    const float* const arrays[] = {g, u, v};
    const auto prepare = [&] {
        std::memcpy(u, before_u, n * sizeof(float));
        std::memcpy(v, before_v, n * sizeof(float));
    };
    return bench::seconds_of(repeats, prepare, [&] {
        each_line(ahead, arrays, n, [&](std::size_t i, std::size_t) {
            floats next, gradient, sum;
            load(next, u + i);
            load(gradient, g + i);
            load(sum, v + i);
            next = momentum * next + gradient;
            sum += next;
            std::memcpy(u + i, &next, sizeof next);
            std::memcpy(v + i, &sum, sizeof sum);
        });
        for (std::size_t i = n / lanes * lanes; i < n; ++i) v[i] += u[i] = momentum * u[i] + g[i];
    });
}

/// Both halves of an array at once, by this thread and another that waits for its turn awake.
double limit_read_by_two(const float* x, std::int64_t count, std::int64_t ahead,
                         std::int64_t repeats) {
    const auto n = static_cast<std::size_t>(count), half = n / 2 / lanes * lanes;
    std::atomic<std::int64_t> begun{0}, ended{-1};
    std::thread other([&] {
        ended.store(0, std::memory_order_release);
        for (std::int64_t turn = 1;; ++turn) {
            std::int64_t now;
            while ((now = begun.load(std::memory_order_acquire)) >= 0 && now < turn) {}
            if (now < 0) return;
            bench::use(read_once(x + half, n - half, ahead));
            ended.store(turn, std::memory_order_release);
        }
    });
    while (ended.load(std::memory_order_acquire) < 0) {}
    std::int64_t turn = 0;
    const double seconds = bench::seconds_of(repeats, [&] {
        begun.store(++turn, std::memory_order_release);
        bench::use(read_once(x, half, ahead));
        while (ended.load(std::memory_order_acquire) < turn) {}
    });
    begun.store(-1, std::memory_order_release);
    other.join();
    return seconds;
}

}  // extern "C"
