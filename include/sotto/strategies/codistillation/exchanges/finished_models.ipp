#pragma once

#include "sotto/strategies/codistillation/exchanges/finished_models.hpp"

#include <cstddef>
#include <numeric>

#include "sotto/checkpoint/detail/group_folders.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/detail/files/absolute_path.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/require_option.hpp"

namespace sotto {

SOTTO_DECL std::vector<int> finished_models::teachers(detail::model_groups) const {
    check();
    std::vector<int> all(static_cast<std::size_t>(count));
    std::iota(all.begin(), all.end(), 0);
    return all;
}

SOTTO_DECL void finished_models::check() const {
    if (folder.empty())
        throw invalid_option("finished_models: there is no folder to read teachers from");
    require_option("finished_models", "count", count, detail::allowed::at_least(1).at_most(4096));
}

SOTTO_DECL finished_models::state::state(const finished_models& options) : options_(options) {
    options.check();
    options_.folder = detail::absolute_path(options.folder);
    are_read_.resize(static_cast<std::size_t>(options.count));
    for (int group = 0; group < options.count; ++group) require_whole(group);
}

SOTTO_DECL std::optional<detail::checkpoint::published_model> finished_models::state::look(
    const detail::checkpoint::architecture& kind, int group, std::int64_t after) {
    const auto which = static_cast<std::size_t>(group);
    if (are_read_[which]) return std::nullopt;
    try {
        auto found =
            detail::checkpoint::read_published(options_.files, folder_of(group), kind, after);
        are_read_[which] = found.has_value();
        return found;
    } catch (const mismatch& e) {
        throw invalid_option("finished_models: " + std::string(e.what()) +
                             ", of the student's own");
    }
}

SOTTO_DECL std::string finished_models::state::folder_of(int group) const {
    return detail::checkpoint::models_folder(options_.folder, group);
}

SOTTO_DECL void finished_models::state::require_whole(int group) {
    std::string why = "there is no model in it";
    try {
        const auto found = detail::checkpoint::survey_published(options_.files, folder_of(group));
        if (found.newest) return;
        if (!found.torn.empty()) why = "none in it is whole: " + found.torn.front().why;
    } catch (const error& e) {
        why = e.what();
    }
    throw invalid_option("finished_models: teacher " + std::to_string(group) + " of " +
                         std::to_string(options_.count) + " was to be in '" + folder_of(group) +
                         "': " + why);
}

}  // namespace sotto
