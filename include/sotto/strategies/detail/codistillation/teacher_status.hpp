#pragma once

#include <cstdint>
#include <limits>
#include <string>

namespace sotto::detail {

/// Why a teacher is not listened to.
enum class left_out {
    no,                  // it is
    absent,              // there is nothing of it yet
    unreadable,          // what there is cannot be read
    other_architecture,  // it is no model of this kind
    other_deal,          // data are dealt to it otherwise: it may have learnt from its student's
    not_finite,          // a weight is infinite or no number
    too_old,             // it was published too many steps ago
    too_far_ahead,       // or it has been trained for too many steps more than its student
    worse,               // it knows the labels worse than its student, see teacher_rules
    not_its_turn         // another one teaches in this interval
};

/// For people.
const char* name_of(left_out why) noexcept;

/// Which teachers are listened to. Whoever is left out is so for the interval, and looked at again
/// after it.
///   math    a teacher is worse whose label loss on its student's data is above r + margin, or that
///           knows nothing. It has not learnt from that data, so r = max(the student's loss, its
///           loss on data that it has not learnt from): how it does on the teacher's data, as that
///           group claims, but at most chance; where nothing is claimed, how it did in its first 3
///           passes. Who knows nothing is at chance or above, with its logits and with half of
///           them, while its student is below 0.8 chance. Chance is the loss of equal logits:
///           log(outputs) by cross-entropy
/// Half of them, since who is above chance may be right and too sure: who knows wrong labels by
/// heart is, on other data, and a good teacher all the same.
struct teacher_rules {
    /// Steps of the student since those of the teacher's model, or by which this one is ahead; 0:
    /// any; -1: 20 times the steps from one exchange to the next, and any of teachers that have
    /// finished. So who begins does not hear what an earlier training left at its end. A group that
    /// begins anew, or goes on from a checkpoint, hears the others and is heard by them where it is
    /// no further behind than this.
    std::int64_t age_max = -1;
    double margin = 1.0;  // of label loss, by which a teacher may be worse than its student

    /// Throws invalid_option: age_max below -1, a margin below 0 or not a number.
    void check() const;

    /// The same with age_max said, for exchanges every so many steps.
    teacher_rules of_exchanges(std::int64_t every, bool have_finished) const noexcept;

    void describe(auto&& field) const {
        field("age_max", age_max);
        field("margin", margin);
    }
};

/// A mean in which the newest of some twenty values count.
class recent_mean {
public:
    void add(double value) noexcept;
    void forget() noexcept { share_ = sum_ = 0.0; }
    bool empty() const noexcept { return share_ == 0.0; }
    double value() const noexcept;

private:
    static constexpr double keeps = 0.9;
    double share_ = 0.0, sum_ = 0.0;
};

/// What a rank thinks of one teacher.
struct teacher_status {
    int group = 0;                    // its group
    std::int64_t step = -1;           // of the model that is there; -1: none
    left_out why = left_out::absent;  // why it is not listened to, if it is not
    std::string details{};            // of what cannot be used
    double label_loss = std::numeric_limits<double>::quiet_NaN();  // lately, on this rank's data
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/detail/codistillation/teacher_status.ipp"
#endif
