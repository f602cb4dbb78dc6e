#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sotto/checkpoint/detail/disk.hpp"
#include "sotto/strategies/detail/codistillation/meeting_place.hpp"
#include "sotto/checkpoint/detail/group_folders.hpp"
#include "sotto/checkpoint/detail/published_model.hpp"
#include "sotto/core/detail/files/absolute_path.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/require_option.hpp"
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
    std::filesystem::path folder{};  // where the models are
    int count = 1;                   // teachers
    detail::checkpoint::disk files{};                   // by which the disk is reached

    static constexpr bool finished = true;
    static constexpr bool by_each_rank = true;

    std::vector<int> teachers(detail::model_groups) const {
        check();
        std::vector<int> all(static_cast<std::size_t>(count));
        std::iota(all.begin(), all.end(), 0);
        return all;
    }

    /// Whatever groups there are: the teachers are the same.
    class state;
    state bind(const detail::meeting_place&) const;

    void describe(auto&& field) const {
        field("folder", folder.string());
        field("count", count);
    }

private:
    void check() const {
        if (folder.empty())
            throw invalid_option("finished_models: there is no folder to read teachers from");
        require_option("finished_models", "count", count,
                       detail::allowed::at_least(1).at_most(4096));
    }
};

/// What its options become on one rank.
class finished_models::state {
public:
    explicit state(const finished_models& options) : options_(options) {
        options.check();
        options_.folder = detail::absolute_path(options.folder);
        are_read_.resize(static_cast<std::size_t>(options.count));
        for (int group = 0; group < options.count; ++group) require_whole(group);
    }

    void publish(const detail::checkpoint::architecture&,
                 const detail::checkpoint::published_facts&, std::span<const float>,
                 std::span<const float>, std::span<const int>) const noexcept {}

    std::optional<detail::checkpoint::published_model> look(
        const detail::checkpoint::architecture& kind, int group, std::int64_t after) {
        const auto which = static_cast<std::size_t>(group);
        if (are_read_[which]) return std::nullopt;
        try {
            auto found = detail::checkpoint::read_published(options_.files, folder_of(group),
                                                            kind, after);
            are_read_[which] = found.has_value();
            return found;
        } catch (const mismatch& e) {
            throw invalid_option("finished_models: " + std::string(e.what()) +
                                 ", of the student's own");
        }
    }

    std::string problem() const { return {}; }

private:
    std::filesystem::path folder_of(int group) const {
        return detail::checkpoint::models_folder(options_.folder, group);
    }

    void require_whole(int group) {
        std::string why = "there is no model in it";
        try {
            const auto found =
                detail::checkpoint::survey_published(options_.files, folder_of(group));
            if (found.newest) return;
            if (!found.torn.empty()) why = "none in it is whole: " + found.torn.front().why;
        } catch (const error& e) {
            why = e.what();
        }
        throw invalid_option("finished_models: teacher " + std::to_string(group) + " of " +
                             std::to_string(options_.count) + " was to be in '" +
                             folder_of(group).string() + "': " + why);
    }

    finished_models options_;
    std::vector<bool> are_read_;
};
inline finished_models::state finished_models::bind(const detail::meeting_place&) const {
    return state(*this);
}

}  // namespace sotto
