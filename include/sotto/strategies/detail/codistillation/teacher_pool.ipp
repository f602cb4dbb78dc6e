#pragma once

#include "sotto/strategies/detail/codistillation/teacher_pool.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/memory/finite.hpp"
#include "sotto/kernels/detail/simd/reductions.hpp"

namespace sotto::detail {

SOTTO_DECL teacher_pool::teacher_pool(std::vector<int> groups, const teacher_rules& rules, int own)
    : rules_(rules), own_group_(own), held_(groups.size()), standings_(groups.size()) {
    rules.check();
    for (std::size_t i = 0; i < groups.size(); ++i) standings_[i].group = groups[i];
}

SOTTO_DECL void teacher_pool::take(std::size_t i, checkpoint::published_model found) {
    one& held = held_[i];
    held.model = std::move(found);
    standings_[i].step = held.model.facts.step;
    held.refusal = left_out::no;
    held.is_finite = kernels::first_non_finite(held.model.parameters) < 0 &&
                     kernels::first_non_finite(held.model.buffers) < 0;
}

SOTTO_DECL void teacher_pool::attend(std::size_t i, std::int64_t step) {
    standings_[i].step = step;
    held_[i].is_finite = true;
}

SOTTO_DECL void teacher_pool::refuse(std::size_t i, left_out why, std::string details) {
    held_[i].refusal = why;
    standings_[i].details = std::move(details);
}

SOTTO_DECL void teacher_pool::begin_interval(std::int64_t student, std::span<const int> teachers) {
    listened_.clear();
    views_.clear();
    for (std::size_t i = 0; i < held_.size(); ++i) {
        one& held = held_[i];
        teacher_status& standing = standings_[i];
        if (standing.why != left_out::no) held.above_chance.forget();
        standing.why = std::ranges::count(teachers, standing.group) == 0 ? left_out::not_its_turn
                                                                         : held.refusal;
        if (standing.why != left_out::no) continue;
        if (standing.step < 0)
            standing.why = left_out::absent;
        else if (!held.is_finite)
            standing.why = left_out::not_finite;
        else if (rules_.age_max > 0 && student - standing.step > rules_.age_max)
            standing.why = left_out::too_old;
        else if (rules_.age_max > 0 && standing.step - student > rules_.age_max)
            standing.why = left_out::too_far_ahead;
        if (standing.why != left_out::no) continue;
        held.loss.forget();
        listened_.push_back(i);
        views_.push_back({held.model.parameters, held.model.buffers});
    }
}

SOTTO_DECL bool teacher_pool::leave_out() {
    const auto is_out = [this](std::size_t i) { return standings_[i].why != left_out::no; };
    if (std::erase_if(listened_, is_out) == 0) return false;
    views_.clear();
    for (const std::size_t i : listened_)
        views_.push_back({held_[i].model.parameters, held_[i].model.buffers});
    return true;
}

SOTTO_DECL bool teacher_pool::judge(std::size_t i, const label_knowledge& found) {
    const std::size_t at = listened_[i];
    one& held = held_[at];
    held.loss.add(found.loss);
    held.above_chance.add(found.above_chance());
    teacher_status& standing = standings_[at];
    standing.label_loss = held.loss.value();
    if (!is_finite(standing.label_loss))
        standing.why = left_out::not_finite;
    else if (standing.label_loss > reference(at, found.chance) + rules_.margin ||
             (own_.value() < knows * found.chance && held.above_chance.value() >= 0.0))
        standing.why = left_out::worse;
    return standing.why == left_out::no;
}

SOTTO_DECL void teacher_pool::student(double label_loss, bool unseen) noexcept {
    if (!is_finite(label_loss)) return;
    own_.add(label_loss);
    if (unseen) unseen_.add(label_loss);
}

SOTTO_DECL double teacher_pool::judged_by(std::size_t i) const noexcept {
    for (const checkpoint::judgement& j : held_[i].model.facts.judged)
        if (j.group == own_group_ && is_finite(j.label_loss)) return j.label_loss;
    return std::numeric_limits<double>::quiet_NaN();
}

SOTTO_DECL std::vector<checkpoint::judgement> teacher_pool::judged() const {
    std::vector<checkpoint::judgement> all;
    for (const teacher_status& s : standings_)
        if (is_finite(s.label_loss)) all.push_back({s.group, s.label_loss});
    return all;
}

SOTTO_DECL std::optional<std::int64_t> teacher_pool::oldest(std::int64_t student) const noexcept {
    std::optional<std::int64_t> age;
    for (const std::size_t i : listened_)
        if (standings_[i].why == left_out::no)
            age = (std::max)(age.value_or(INT64_MIN), student - standings_[i].step);
    return age;
}

SOTTO_DECL double teacher_pool::reference(std::size_t i, double chance) const noexcept {
    const double now = own_.empty() ? std::numeric_limits<double>::infinity() : own_.value();
    const double claimed = judged_by(i);
    const double first = is_nan(claimed) ? unseen_.value() : (std::min)(claimed, chance);
    return is_nan(first) ? now : (std::max)(now, first);
}

}  // namespace sotto::detail
