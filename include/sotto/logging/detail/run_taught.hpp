#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sotto/strategies/round_report.hpp"
#include "sotto/logging/detail/run_consensus.hpp"
#include "sotto/logging/detail/taught_record.hpp"

namespace sotto::detail {

/// What teachers taught in some steps in a row; see taught_report.
struct taught_means {
    static constexpr std::size_t places_max = 7;  // teachers whose weights are kept

    measured_mean distillation_loss, agreement, age;  // of steps in which somebody was heard
    std::int64_t told = 0;                            // steps of a rank that has teachers
    std::array<double, places_max> weights{};  // in all of these, of teachers by their places

    /// Takes the steps after these in.
    void merge(const taught_means& next) noexcept {
        distillation_loss.merge(next.distillation_loss);
        agreement.merge(next.agreement);
        age.merge(next.age);
        told += next.told;
        for (std::size_t i = 0; i < weights.size(); ++i) weights[i] += next.weights[i];
    }
    /// What a teacher weighed on average; 0 where it was left out.
    double weight(std::size_t place) const noexcept {
        return told > 0 ? weights[place] / static_cast<double>(told) : 0.0;
    }

    friend bool operator==(const taught_means&, const taught_means&) = default;
};

/// What teachers taught in a run, by steps in a row that are the run's points, and over all.
///   cost    where there are teachers 128 bytes a point, taken by the first step that tells of any
class run_taught {
public:
    taught_record record{};  // of all steps

    /// A step that stands for `times`, and became a part of the last of so many points.
    void add(std::int64_t step, const taught_report& round, std::int64_t times, std::size_t points,
             std::size_t points_max) {
        if (means_.empty()) {
            if (!taught_record::tells(round)) return;
            means_.reserve(points_max);
        }
        record.add(step, round, times);
        means_.resize(points);
        if (!taught_record::tells(round)) return;
        taught_means now;
        now.told = 1;
        if (round.teachers > 0) {
            now.distillation_loss.add(round.distillation_loss);
            now.agreement.add(round.agreement);
            now.age.add(static_cast<double>(round.age));
            for (std::size_t i = 0; i < round.standings.size(); ++i) {
                if (round.standings[i].why != left_out::no) continue;
                const std::size_t place = record.place_of(round.standings[i].group, i);
                if (place < now.weights.size())
                    now.weights[place] = round.weight / static_cast<double>(round.teachers);
            }
        }
        means_.back().merge(now);
    }

    /// Points from `first` up to `last` become one.
    void put_together(std::size_t into, std::size_t first, std::size_t last) noexcept {
        if (means_.empty()) return;
        taught_means merged = means_[first];
        for (std::size_t i = first + 1; i < last; ++i) merged.merge(means_[i]);
        means_[into] = merged;
    }
    /// So many points are left: the others are gone.
    void shorten(std::size_t points) {
        if (!means_.empty()) means_.resize(points);
    }

    /// Of each point; none where no step told of teachers.
    const std::vector<taught_means>& points() const noexcept { return means_; }

private:
    std::vector<taught_means> means_;
};

}  // namespace sotto::detail
