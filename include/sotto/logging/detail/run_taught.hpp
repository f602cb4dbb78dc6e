#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sotto/logging/detail/run_consensus.hpp"
#include "sotto/logging/detail/taught_record.hpp"
#include "sotto/strategies/round_report.hpp"

namespace sotto::detail {

/// Effects of teachers in consecutive steps; see taught_report.
struct taught_means {
    static constexpr std::size_t places_max = 7;  // number of teachers whose weights are stored

    measured_mean distillation_loss, agreement, age;  // over steps that used a teacher
    std::int64_t told = 0;                            // steps of a rank that has teachers
    std::array<double, places_max> weights{};         // sums over these steps, by teacher's place

    /// Adds the steps that follow these.
    void merge(const taught_means& next) noexcept;
    /// Returns the mean weight of a teacher; a step that left it out counts as 0.
    double weight(std::size_t place) const noexcept;

    friend bool operator==(const taught_means&, const taught_means&) = default;
};

/// Effects of teachers in a run, by consecutive steps that are the run's points, and over all.
///   cost    with teachers 128 bytes a point, allocated by the first step that reports any
class run_taught {
public:
    taught_record record{};  // record of all steps

    /// Adds a step that represents `times` steps and belongs to the last of `points` points.
    void add(std::int64_t step, const taught_report& round, std::int64_t times, std::size_t points,
             std::size_t points_max);

    /// Merges the points from `first` up to `last` into point `into`.
    void put_together(std::size_t into, std::size_t first, std::size_t last) noexcept;
    /// Removes all but the first `points` points.
    void shorten(std::size_t points);

    /// Returns the points; empty if no step had teachers.
    const std::vector<taught_means>& points() const noexcept { return means_; }

private:
    std::vector<taught_means> means_;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/logging/detail/run_taught.ipp"
#endif
