#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sotto/checkpoint/detail/disk.hpp"
#include "sotto/checkpoint/detail/published_model.hpp"
#include "sotto/strategies/detail/codistillation/meeting_place.hpp"
#include "sotto/strategies/model_groups.hpp"

namespace sotto {

/// Teachers that have learnt before: distillation in two phases. In the first each teacher is
/// trained, and publish(trainer, folder, group) called; in the second students learn from all of
/// them and publish nothing:
/// `codistillation{strategy, forward_kl{}, finished_models{.folder = "teachers"}, {.count = 1}}`
///   math    the teachers are the newest whole models in FOLDER/group-0/models to
///           FOLDER/group-(count - 1)/models when the first step is taught, and stay as they are,
///           whatever comes into the folder
///   cost    each is read four times, twice when it is bound
///   errors  invalid_option, when it is bound: there is no whole model for each of them; in the
///           first step that is taught: one is no model of the student's kind. Among groups that
///           learn together such a teacher is left out and may come later; here it is a mistake
///   source  Hinton, Vinyals, Dean 2015, Distilling the knowledge in a neural network,
///           arXiv:1503.02531
struct finished_models {
    std::string folder{};              // where the models are
    int count = 1;                     // teachers
    detail::checkpoint::disk files{};  // by which the disk is reached

    static constexpr bool finished = true;
    static constexpr bool by_each_rank = true;

    std::vector<int> teachers(detail::model_groups) const;

    /// Whatever groups there are: the teachers are the same.
    class state;
    state bind(const detail::meeting_place&) const;

    void describe(auto&& field) const {
        field("folder", folder);
        field("count", count);
    }

private:
    void check() const;
};

/// What its options become on one rank.
class finished_models::state {
public:
    explicit state(const finished_models& options);

    void publish(const detail::checkpoint::architecture&,
                 const detail::checkpoint::published_facts&, std::span<const float>,
                 std::span<const float>, std::span<const int>) const noexcept {}

    std::optional<detail::checkpoint::published_model> look(
        const detail::checkpoint::architecture& kind, int group, std::int64_t after);

    std::string problem() const { return {}; }

private:
    std::string folder_of(int group) const;

    void require_whole(int group);

    finished_models options_;
    std::vector<bool> are_read_;
};
inline finished_models::state finished_models::bind(const detail::meeting_place&) const {
    return state(*this);
}

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/codistillation/exchanges/finished_models.ipp"
#endif
