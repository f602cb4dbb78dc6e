#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sotto/logging/detail/run_consensus.hpp"
#include "sotto/logging/detail/taught_record.hpp"
#include "sotto/strategies/round_report.hpp"

namespace sotto::detail {

/// What teachers taught in some steps in a row; see taught_report.
struct taught_means {
    static constexpr std::size_t places_max = 7;  // teachers whose weights are kept

    measured_mean distillation_loss, agreement, age;  // of steps in which somebody was heard
    std::int64_t told = 0;                            // steps of a rank that has teachers
    std::array<double, places_max> weights{};  // in all of these, of teachers by their places

    /// Takes the steps after these in.
    void merge(const taught_means& next) noexcept;
    /// What a teacher weighed on average; 0 where it was left out.
    double weight(std::size_t place) const noexcept;

    friend bool operator==(const taught_means&, const taught_means&) = default;
};

/// What teachers taught in a run, by steps in a row that are the run's points, and over all.
///   cost    where there are teachers 128 bytes a point, taken by the first step that tells of any
class run_taught {
public:
    taught_record record{};  // of all steps

    /// A step that stands for `times`, and became a part of the last of so many points.
    void add(std::int64_t step, const taught_report& round, std::int64_t times, std::size_t points,
             std::size_t points_max);

    /// Points from `first` up to `last` become one.
    void put_together(std::size_t into, std::size_t first, std::size_t last) noexcept;
    /// So many points are left: the others are gone.
    void shorten(std::size_t points);

    /// Of each point; none where no step told of teachers.
    const std::vector<taught_means>& points() const noexcept { return means_; }

private:
    std::vector<taught_means> means_;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/logging/detail/run_taught.ipp"
#endif
