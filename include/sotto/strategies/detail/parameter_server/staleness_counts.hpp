#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sotto::detail {

/// How late gradients were: for each worker how many came so many steps after their parameters were
/// read.
class staleness_counts {
public:
    static constexpr std::int64_t counts_max = 4096;  // later ones count as this less one

    /// Of so many workers.
    explicit staleness_counts(int workers) : of_(static_cast<std::size_t>(workers)) {}

    /// A worker's gradient was late by so many steps.
    void add(int worker, std::int64_t staleness);

    /// Workers.
    int workers() const noexcept { return static_cast<int>(of_.size()); }

    /// By staleness, from 0 on; the last of 4096 counts all above.
    std::span<const std::int64_t> of(int worker) const noexcept;

    /// Of one worker; 0 without any.
    double mean(int worker) const noexcept { return mean_of(of(worker)); }

    /// Of counts by staleness, from 0 on; 0 where there are none.
    static double mean_of(std::span<const std::int64_t> counts) noexcept;

private:
    std::vector<std::vector<std::int64_t>> of_;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/detail/parameter_server/staleness_counts.ipp"
#endif
