#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "bare_exchange.hpp"
#include "sotto/core/bytes.hpp"
#include "sotto/core/detail/memory/large_pages.hpp"

namespace bench {

/// The memory that a server cannot but touch when it takes a push, touched by the plainest loops.
/// Arrays of n weights: the parameters, and for DC-ASGD-a what the worker has read and the mean
/// square.
///   entries  all lines of the message once, one line of each array for each entry, but once where
///            entries share it
///   dense    all lines of the message once, of the parameters twice (read and written), of what
///            was read once, of the mean square twice
class touched_memory {
public:
    touched_memory(std::size_t n, bool adaptive)
        : arrays_(adaptive ? 3 : 1, sotto::detail::large_vector<std::uint32_t>(n, 1)) {}

    int arrays(bool of_entries) const {
        return static_cast<int>(arrays_.size()) + (of_entries ? 0 : 1);
    }
    double lines_of(const std::vector<std::uint32_t>& indices, sotto::byte_view message) const {
        std::size_t lines = 0;
        for (std::size_t k = 0; k < indices.size(); ++k)
            lines += k == 0 || indices[k] / 16 != indices[k - 1] / 16;
        return static_cast<double>(lines * arrays_.size() + message.size() / 64);
    }
    double lines_of_all() const {
        return static_cast<double>(arrays_.front().size()) / 16.0 * (arrays_.size() > 1 ? 6 : 3);
    }

    /// Seconds to read a message, and to change one value at each of these places of each array but
    /// what was read. The places are in a cache before, as they are where they were just decoded.
    double touch_lines(std::span<const std::uint32_t> indices, sotto::byte_view message) {
        std::uint32_t all = 0;
        for (const std::uint32_t i : indices) all |= i;
        asm volatile("" : : "r"(all));
        return arrays_.size() > 1 ? touch<3>(indices, message) : touch<1>(indices, message);
    }

    /// Seconds to read a message and all arrays, and to write those that a step changes; by a loop
    /// with prefetches or without, in turns: the caller takes the median.
    double touch_all(sotto::byte_view message) {
        const std::size_t lines = std::min(arrays_.front().size() / 16, message.size() / 64);
        const double start = seconds_now();
        if (arrays_.size() > 1)
            pass<3>(message.data(), lines);
        else
            pass<1>(message.data(), lines);
        return seconds_now() - start;
    }

private:
    typedef std::uint32_t words __attribute__((vector_size(64)));

    /// 0, but the compiler does not know it: what is written is what was there.
    static std::uint32_t nothing() noexcept {
        std::uint32_t none = 0;
        asm volatile("" : "+r"(none));
        return none;
    }

    template <std::size_t Arrays>
    double touch(std::span<const std::uint32_t> indices, sotto::byte_view message) {
        constexpr std::size_t ahead = 32;
        std::uint32_t* at[Arrays];
        for (std::size_t a = 0; a < Arrays; ++a) at[a] = arrays_[a].data();
        const std::uint32_t none = nothing();
        std::uint32_t seen = 0;
        const double start = seconds_now();
        words of_message{};
        for (std::size_t i = 0; i + 64 <= message.size(); i += 64) {
            words some;
            std::memcpy(&some, message.data() + i, sizeof some);
            of_message |= some;
        }
        asm volatile("" : : "m"(of_message));
        for (std::size_t k = 0; k < indices.size(); ++k) {
            const std::size_t next = indices[std::min(k + ahead, indices.size() - 1)];
            for (std::size_t a = 0; a < Arrays; ++a) __builtin_prefetch(at[a] + next, 1);
            const std::size_t i = indices[k];
            at[0][i] ^= none;
            if constexpr (Arrays > 1) {
                at[1][i] ^= none;
                seen |= at[2][i];
            }
        }
        asm volatile("" : : "r"(seen) : "memory");
        return seconds_now() - start;
    }

    template <std::size_t Arrays>
    void pass(const std::byte* message, std::size_t lines) {
        char* at[Arrays];
        for (std::size_t a = 0; a < Arrays; ++a) at[a] = reinterpret_cast<char*>(arrays_[a].data());
        const std::uint32_t none = nothing();
        words seen{};
        for (std::size_t i = 0; i < 64 * lines; i += 64) {
            __builtin_prefetch(message + i + 1024);
            for (std::size_t a = 0; a < Arrays; ++a) __builtin_prefetch(at[a] + i + 1024);
            words some;
            std::memcpy(&some, message + i, sizeof some);
            seen |= some;
            for (std::size_t a = 0; a < Arrays; ++a) {
                std::memcpy(&some, at[a] + i, sizeof some);
                some ^= none;
                if (a < 2)
                    std::memcpy(at[a] + i, &some, sizeof some);
                else
                    seen |= some;
            }
        }
        asm volatile("" : : "m"(seen) : "memory");
    }

    // The parameters, the mean square, what was read: those that are written first.
    std::vector<sotto::detail::large_vector<std::uint32_t>> arrays_;
};

}  // namespace bench
