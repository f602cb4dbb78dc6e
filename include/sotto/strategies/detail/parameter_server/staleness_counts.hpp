#pragma once

#include <algorithm>
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
    void add(int worker, std::int64_t staleness) {
        auto& counts = of_[static_cast<std::size_t>(worker)];
        const auto at =
            static_cast<std::size_t>(std::clamp<std::int64_t>(staleness, 0, counts_max - 1));
        if (counts.size() <= at) counts.resize(at + 1);
        ++counts[at];
    }

    /// Workers.
    int workers() const noexcept { return static_cast<int>(of_.size()); }

    /// By staleness, from 0 on; the last of 4096 counts all above.
    std::span<const std::int64_t> of(int worker) const noexcept {
        return of_[static_cast<std::size_t>(worker)];
    }

    /// Of one worker; 0 without any.
    double mean(int worker) const noexcept { return mean_of(of(worker)); }

    /// Of counts by staleness, from 0 on; 0 where there are none.
    static double mean_of(std::span<const std::int64_t> counts) noexcept {
        double sum = 0.0, count = 0.0;
        for (std::size_t s = 0; s < counts.size(); ++s) {
            sum += static_cast<double>(s) * static_cast<double>(counts[s]);
            count += static_cast<double>(counts[s]);
        }
        return count > 0.0 ? sum / count : 0.0;
    }

private:
    std::vector<std::vector<std::int64_t>> of_;
};

}  // namespace sotto::detail
