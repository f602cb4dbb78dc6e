#pragma once

#include "sotto/checkpoint/print_teachers.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

#include "sotto/checkpoint/detail/digest.hpp"
#include "sotto/checkpoint/detail/generations.hpp"
#include "sotto/checkpoint/detail/group_folders.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/detail/files/join_path.hpp"
#include "sotto/core/detail/memory/finite.hpp"
#include "sotto/core/detail/text/number_text.hpp"
#include "sotto/core/detail/text/print_line.hpp"
#include "sotto/core/errors.hpp"

namespace sotto::detail::checkpoint {

SOTTO_DECL std::string with_unit(double value, const char* unit) {
    return fixed_text(value, value < 10.0 ? 1 : 0) + " " + unit;
}

SOTTO_DECL std::string in_bytes(std::int64_t bytes) {
    const auto value = static_cast<double>(bytes);
    if (bytes < 1024) return std::to_string(bytes) + " B";
    if (value < 1024.0 * 1024.0) return with_unit(value / 1024.0, "KiB");
    if (value < 1024.0 * 1024.0 * 1024.0) return with_unit(value / (1024.0 * 1024.0), "MiB");
    return with_unit(value / (1024.0 * 1024.0 * 1024.0), "GiB");
}

SOTTO_DECL std::string ago(double seconds) {
    seconds = (std::max)(seconds, 0.0);
    if (seconds < 120.0) return std::to_string(static_cast<int>(seconds)) + " s ago";
    if (seconds < 7200.0) return with_unit(seconds / 60.0, "min ago");
    if (seconds < 172800.0) return with_unit(seconds / 3600.0, "h ago");
    return with_unit(seconds / 86400.0, "days ago");
}

SOTTO_DECL listed_group look_at(posix_files& files, const std::string& folder, int group) {
    listed_group about{.group = group};
    const auto own = models_folder(folder, group);
    try {
        about.found = survey_published(files, own);
    } catch (const error& e) {
        about.unreadable = e.what();
    }
    if (!about.found.newest) return about;
    std::error_code why;
    const auto when =
        std::filesystem::last_write_time(join_path(own, file_name(about.found.newest->step)), why);
    if (!why) {
        const std::chrono::duration<double> age =
            std::filesystem::file_time_type::clock::now() - when;
        about.written = ago(age.count());
    }
    return about;
}

SOTTO_DECL std::string health_of(const listed_group& about, const listed_group* first) {
    if (!about.unreadable.empty()) return "unreadable: " + about.unreadable;
    const auto& [newest, finite, bytes, kept, torn] = about.found;
    std::string health;
    if (!torn.empty() && torn.front().kind == refusal::unreadable)
        health = "unreadable: " + torn.front().why +
                 (newest ? "; this is the newest that can be read" : "");
    else if (!torn.empty())
        health = "torn: step " + std::to_string(torn.front().step) + " is not whole, " +
                 (newest ? "this is the newest that is" : "and none is");
    else if (!newest)
        return "no model";
    const auto add = [&](const std::string& what) {
        health += (health.empty() ? "" : "; ") + what;
    };
    if (!finite) add("not finite");
    if (newest && newest->architecture != first->found.newest->architecture)
        add("other architecture than group-" + std::to_string(first->group));
    return health.empty() ? "whole" : health;
}

SOTTO_DECL std::string text_of(const listed_group& about, const std::string& health) {
    std::string text = "group-" + std::to_string(about.group);
    if (about.found.newest) {
        const auto& facts = *about.found.newest;
        text += "  step " + std::to_string(facts.step) + "  loss " +
                (sotto::detail::is_finite(facts.label_loss) ? general_text(facts.label_loss, 4)
                                                            : "unknown") +
                "  written " + about.written + "  " + std::to_string(about.found.kept) + " kept  " +
                in_bytes(about.found.bytes) + "  architecture " +
                hex(facts.architecture).substr(0, 8);
    }
    return text + "  " + health;
}

}  // namespace sotto::detail::checkpoint

namespace sotto {

SOTTO_DECL bool print_teachers(const std::string& folder, std::FILE* to) {
    detail::checkpoint::posix_files files;
    std::error_code why;
    const std::vector<int> groups = detail::checkpoint::groups_in(files, folder, why);
    if (why) throw invalid_option("cannot list '" + folder + "': " + why.message());
    if (groups.empty())
        throw io_failure("there are no groups in '" + folder +
                         "'; expected folders group-0, group-1, ...");
    std::vector<detail::checkpoint::listed_group> all;
    for (const int group : groups) all.push_back(detail::checkpoint::look_at(files, folder, group));
    const auto first =
        std::ranges::find_if(all, [](const auto& about) { return about.found.newest.has_value(); });
    bool are_whole = true;
    for (const auto& about : all) {
        const std::string health =
            detail::checkpoint::health_of(about, first == all.end() ? nullptr : &*first);
        are_whole = are_whole && health == "whole";
        detail::print_line(to, detail::checkpoint::text_of(about, health));
    }
    return are_whole;
}

}  // namespace sotto
