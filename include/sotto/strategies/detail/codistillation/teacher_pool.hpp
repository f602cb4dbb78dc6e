#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sotto/checkpoint/detail/published_model.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/result.hpp"
#include "sotto/strategies/detail/codistillation/label_knowledge.hpp"
#include "sotto/strategies/detail/codistillation/distilled_model.hpp"
#include "sotto/strategies/detail/codistillation/teacher_status.hpp"

namespace sotto::detail {

/// The teachers that a rank has, and what it thinks of each. It keeps the newest model of every
/// other group, whoever brings it.
class teacher_pool {
public:
    /// Passes over the data in which a student knows next to nothing by heart, after which it is no
    /// longer like one that has just begun.
    static constexpr double passes_unseen = 3.0;

    /// Of these groups, for the group `own`.
    teacher_pool(std::vector<int> groups, const teacher_rules& rules, int own = 0);

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

    void take(std::size_t i, checkpoint::published_model found);

    /// Without a model: what this one says is heard as it is at that step.
    void attend(std::size_t i, std::int64_t step);

    void refuse(std::size_t i, left_out why, std::string details);

    /// An interval begins, after so many steps of the student, in which these groups teach. Who was
    /// worse has a new chance; who was heard is not taken for ignorant by one small batch.
    void begin_interval(std::int64_t student, std::span<const int> teachers);

    /// Nobody who was left out in a round is asked in the next. Whether somebody was.
    bool leave_out();

    /// Those of the interval, and their places among all.
    std::span<const teacher_view> views() const noexcept { return views_; }
    std::span<const std::size_t> listened() const noexcept { return listened_; }

    /// Whether the i-th of these is heard in a round, now that it is known how it does on the
    /// labels. One that is worse is not, for the rest of the interval.
    bool judge(std::size_t i, const label_knowledge& found);

    /// How the student itself did in a round, on examples that it had not learnt from before or on
    /// others.
    void student(double label_loss, bool unseen = false) noexcept;

    /// The loss of this group's model on a teacher's data, as its newest model claims; NaN: it does
    /// not.
    double judged_by(std::size_t i) const noexcept;

    /// How those teachers did on this group's data that were asked.
    std::vector<checkpoint::judgement> judged() const;
    double student() const noexcept { return own_.value(); }

    left_out refusal(std::size_t i) const noexcept { return held_[i].refusal; }
    std::span<const teacher_status> standings() const noexcept { return standings_; }

    /// Steps since the oldest model that is listened to, less than 0 where it is ahead; none.
    std::optional<std::int64_t> oldest(std::int64_t student) const noexcept;

private:
    // What a student must have learnt before it leaves out who knows nothing: to be a fifth below
    // chance. Before that it knows no more itself, and both pass chance at about the same time.
    static constexpr double knows = 0.8;

    /// What a teacher's loss on data that it has not learnt from is compared with: the student's on
    /// such data, or what it does now, where that is more. The first is how it does on the
    /// teacher's, as that one claims, but chance at most: a teacher of other labels finds everybody
    /// wrong. Where nothing is claimed it is how the student did before it knew its own by heart.
    double reference(std::size_t i, double chance) const noexcept;

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
    std::vector<teacher_status> standings_;
    std::vector<std::size_t> listened_;  // in this interval, by their places in held_
    std::vector<teacher_view> views_;    // the same
    recent_mean own_, unseen_;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/detail/codistillation/teacher_pool.ipp"
#endif
