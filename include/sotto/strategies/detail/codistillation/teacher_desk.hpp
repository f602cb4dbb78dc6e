#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sotto/checkpoint/detail/published_model.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/detail/memory/finite.hpp"
#include "sotto/kernels/detail/simd/reductions.hpp"
#include "sotto/strategies/detail/codistillation/label_knowledge.hpp"
#include "sotto/strategies/detail/codistillation/taught.hpp"
#include "sotto/strategies/detail/codistillation/teacher_standing.hpp"

namespace sotto::detail {

/// The teachers that a rank has, and what it thinks of each. It keeps the newest model of every
/// other group, whoever brings it.
class teacher_desk {
public:
    /// Passes over the data in which a student knows next to nothing by heart, after which it is no
    /// longer like one that has just begun.
    static constexpr double passes_unseen = 3.0;

    /// Of these groups, for the group `own`.
    teacher_desk(std::vector<int> groups, const teacher_rules& rules, int own = 0)
        : rules_(rules), own_group_(own), held_(groups.size()), standings_(groups.size()) {
        rules.check();
        for (std::size_t i = 0; i < groups.size(); ++i) standings_[i].group = groups[i];
    }

    std::size_t size() const noexcept { return held_.size(); }
    checkpoint::published_model& model(std::size_t i) noexcept { return held_[i].model; }

    /// How data are dealt to this group: whoever says that they are dealt otherwise is no teacher.
    /// Empty: it makes no difference.
    void expect(std::string deal) { deal_ = std::move(deal); }

    /// Looks for a newer model: look(group, after) -> std::optional<published_model>. Whether there
    /// is one. A teacher whose newest cannot be used is left out until there is another.
    template <class Look>
    bool renew(std::size_t i, Look&& look) {
        one& held = held_[i];
        held.refusal = left_out::no;
        standings_[i].details.clear();
        try {
            if (auto found = look(standings_[i].group, standings_[i].step)) {
                const std::string& deal = found->facts.deal;
                if (!deal_.empty() && !deal.empty() && deal != deal_) {
                    refuse(i, left_out::other_deal, "'" + deal + "'; expected '" + deal_ + "'");
                    return false;
                }
                take(i, std::move(*found));
                return true;
            }
        } catch (const mismatch& e) {
            refuse(i, left_out::other_architecture, e.what());
        } catch (const io_failure& e) {
            refuse(i, left_out::unreadable, e.what());
        } catch (const malformed& e) {
            refuse(i, left_out::unreadable, e.what());
        }
        return false;
    }

    void take(std::size_t i, checkpoint::published_model found) {
        one& held = held_[i];
        held.model = std::move(found);
        standings_[i].step = held.model.facts.step;
        held.refusal = left_out::no;
        held.is_finite = kernels::first_non_finite(held.model.parameters) < 0 &&
                         kernels::first_non_finite(held.model.buffers) < 0;
    }

    /// Without a model: what this one says is heard as it is at that step.
    void attend(std::size_t i, std::int64_t step) {
        standings_[i].step = step;
        held_[i].is_finite = true;
    }

    void refuse(std::size_t i, left_out why, std::string details) {
        held_[i].refusal = why;
        standings_[i].details = std::move(details);
    }

    /// An interval begins, after so many steps of the student, in which these groups teach. Who was
    /// worse has a new chance; who was heard is not taken for ignorant by one small batch.
    void begin_interval(std::int64_t student, std::span<const int> teachers) {
        listened_.clear();
        views_.clear();
        for (std::size_t i = 0; i < held_.size(); ++i) {
            one& held = held_[i];
            teacher_standing& standing = standings_[i];
            if (standing.why != left_out::no) held.above_chance.forget();
            standing.why = std::ranges::count(teachers, standing.group) == 0
                               ? left_out::not_its_turn
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

    /// Nobody who was left out in a round is asked in the next. Whether somebody was.
    bool leave_out() {
        const auto is_out = [this](std::size_t i) { return standings_[i].why != left_out::no; };
        if (std::erase_if(listened_, is_out) == 0) return false;
        views_.clear();
        for (const std::size_t i : listened_)
            views_.push_back({held_[i].model.parameters, held_[i].model.buffers});
        return true;
    }

    /// Those of the interval, and their places among all.
    std::span<const teacher_view> views() const noexcept { return views_; }
    std::span<const std::size_t> listened() const noexcept { return listened_; }

    /// Whether the i-th of these is heard in a round, now that it is known how it does on the
    /// labels. One that is worse is not, for the rest of the interval.
    bool judge(std::size_t i, const label_knowledge& found) {
        const std::size_t at = listened_[i];
        one& held = held_[at];
        held.loss.add(found.loss);
        held.above_chance.add(found.above_chance());
        teacher_standing& standing = standings_[at];
        standing.label_loss = held.loss.value();
        if (!is_finite(standing.label_loss))
            standing.why = left_out::not_finite;
        else if (standing.label_loss > reference(at, found.chance) + rules_.margin ||
                 (own_.value() < knows * found.chance && held.above_chance.value() >= 0.0))
            standing.why = left_out::worse;
        return standing.why == left_out::no;
    }

    /// How the student itself did in a round, on examples that it had not learnt from before or on
    /// others.
    void student(double label_loss, bool unseen = false) noexcept {
        if (!is_finite(label_loss)) return;
        own_.add(label_loss);
        if (unseen) unseen_.add(label_loss);
    }

    /// The loss of this group's model on a teacher's data, as its newest model claims; NaN: it does
    /// not.
    double judged_by(std::size_t i) const noexcept {
        for (const checkpoint::judgement& j : held_[i].model.facts.judged)
            if (j.group == own_group_ && is_finite(j.label_loss)) return j.label_loss;
        return std::numeric_limits<double>::quiet_NaN();
    }

    /// How those teachers did on this group's data that were asked.
    std::vector<checkpoint::judgement> judged() const {
        std::vector<checkpoint::judgement> all;
        for (const teacher_standing& s : standings_)
            if (is_finite(s.label_loss)) all.push_back({s.group, s.label_loss});
        return all;
    }
    double student() const noexcept { return own_.value(); }

    left_out refusal(std::size_t i) const noexcept { return held_[i].refusal; }
    std::span<const teacher_standing> standings() const noexcept { return standings_; }

    /// Steps since the oldest model that is listened to, less than 0 where it is ahead; none.
    std::optional<std::int64_t> oldest(std::int64_t student) const noexcept {
        std::optional<std::int64_t> age;
        for (const std::size_t i : listened_)
            if (standings_[i].why == left_out::no)
                age = (std::max)(age.value_or(INT64_MIN), student - standings_[i].step);
        return age;
    }

private:
    // What a student must have learnt before it leaves out who knows nothing: to be a fifth below
    // chance. Before that it knows no more itself, and both pass chance at about the same time.
    static constexpr double knows = 0.8;

    /// What a teacher's loss on data that it has not learnt from is compared with: the student's on
    /// such data, or what it does now, where that is more. The first is how it does on the
    /// teacher's, as that one claims, but chance at most: a teacher of other labels finds everybody
    /// wrong. Where nothing is claimed it is how the student did before it knew its own by heart.
    double reference(std::size_t i, double chance) const noexcept {
        const double now = own_.empty() ? std::numeric_limits<double>::infinity() : own_.value();
        const double claimed = judged_by(i);
        const double first = is_nan(claimed) ? unseen_.value() : (std::min)(claimed, chance);
        return is_nan(first) ? now : (std::max)(now, first);
    }

    struct one {
        checkpoint::published_model model;
        bool is_finite = false;
        left_out refusal = left_out::no;  // of what was found last
        recent_mean loss, above_chance;
    };

    teacher_rules rules_;
    std::string deal_;
    int own_group_;
    std::vector<one> held_;
    std::vector<teacher_standing> standings_;
    std::vector<std::size_t> listened_;  // in this interval, by their places in held_
    std::vector<teacher_view> views_;    // the same
    recent_mean own_, unseen_;
};

}  // namespace sotto::detail
