#pragma once

#include "sotto/logging/detail/run_taught.hpp"

#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL void taught_means::merge(const taught_means& next) noexcept {
    distillation_loss.merge(next.distillation_loss);
    agreement.merge(next.agreement);
    age.merge(next.age);
    told += next.told;
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] += next.weights[i];
}

SOTTO_DECL double taught_means::weight(std::size_t place) const noexcept {
    return told > 0 ? weights[place] / static_cast<double>(told) : 0.0;
}

SOTTO_DECL void run_taught::add(std::int64_t step, const taught_report& round, std::int64_t times,
                                std::size_t points, std::size_t points_max) {
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

SOTTO_DECL void run_taught::put_together(std::size_t into, std::size_t first,
                                         std::size_t last) noexcept {
    if (means_.empty()) return;
    taught_means merged = means_[first];
    for (std::size_t i = first + 1; i < last; ++i) merged.merge(means_[i]);
    means_[into] = merged;
}

SOTTO_DECL void run_taught::shorten(std::size_t points) {
    if (!means_.empty()) means_.resize(points);
}

}  // namespace sotto::detail
