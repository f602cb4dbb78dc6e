// Lists the models that groups have published for each other, and whether they can be read.

#include <sotto/checkpoint/detail/digest.hpp>
#include <sotto/checkpoint/detail/file_system.hpp>
#include <sotto/checkpoint/detail/generations.hpp>
#include <sotto/checkpoint/detail/group_folders.hpp>
#include <sotto/checkpoint/detail/published_model.hpp>
#include <sotto/core/standard_streams.hpp>
#include <sotto/core/errors.hpp>
#include <sotto/core/exit_code.hpp>
#include <sotto/core/printable.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace {

namespace checkpoint = sotto::detail::checkpoint;
using sotto::exit_code;

constexpr const char* usage =
    "usage: sotto_teachers FOLDER\n"
    "\n"
    "Lists the models in FOLDER, which groups publish for each other to learn from\n"
    "(checkpoint_exchange, publish) or which are finished (finished_models): of each group a line\n"
    "about its newest whole model. Every byte of that is read and checked.\n"
    "\n"
    "  step          of those who trained it\n"
    "  loss          of labels, lately, on what they trained on\n"
    "  written       how long ago\n"
    "  kept          models in the group's folder\n"
    "  architecture  the first digits of its digest: models learn only from others of the same\n"
    "\n"
    "and at the end one of\n"
    "\n"
    "  whole\n"
    "  torn: ...     a newer model is not whole: readers take the one before it, if there is one\n"
    "  unreadable: ...  the same of a newer model that cannot be read, or a folder\n"
    "  no model\n"
    "  not finite    a weight is infinite or no number: nobody learns from it\n"
    "  other architecture than group-N, the first in the list that has one\n"
    "\n"
    "Exit status:\n"
    "  0  all models are whole\n"
    "  1  fault: a model is not whole, or there is no group\n"
    "  2  usage: FOLDER was not given or cannot be listed\n";

std::string with_unit(double value, const char* unit) {
    char text[64];
    std::snprintf(text, sizeof text, value < 10.0 ? "%.1f %s" : "%.0f %s", value, unit);
    return text;
}

std::string in_bytes(std::int64_t bytes) {
    const auto value = static_cast<double>(bytes);
    if (bytes < 1024) return std::to_string(bytes) + " B";
    if (value < 1024.0 * 1024.0) return with_unit(value / 1024.0, "KiB");
    if (value < 1024.0 * 1024.0 * 1024.0) return with_unit(value / (1024.0 * 1024.0), "MiB");
    return with_unit(value / (1024.0 * 1024.0 * 1024.0), "GiB");
}

/// Where clocks differ a file may be newer than now.
std::string ago(double seconds) {
    seconds = std::max(seconds, 0.0);
    if (seconds < 120.0) return std::to_string(static_cast<int>(seconds)) + " s ago";
    if (seconds < 7200.0) return with_unit(seconds / 60.0, "min ago");
    if (seconds < 172800.0) return with_unit(seconds / 3600.0, "h ago");
    return with_unit(seconds / 86400.0, "days ago");
}

/// What is in the folder of one group.
struct line {
    int group = 0;
    sotto::detail::checkpoint::published_survey found{};
    std::string unreadable{};  // why
    std::string written = "unknown";
};

line look_at(sotto::detail::checkpoint::posix_files& files, const std::filesystem::path& folder,
             int group) {
    line about{.group = group};
    const auto own = sotto::detail::checkpoint::models_folder(folder, group);
    try {
        about.found = sotto::detail::checkpoint::survey_published(files, own);
    } catch (const sotto::error& e) {
        about.unreadable = e.what();
    }
    if (!about.found.newest) return about;
    std::error_code why;
    const auto when = std::filesystem::last_write_time(
        own / sotto::detail::checkpoint::file_name(about.found.newest->step), why);
    if (!why) {
        const std::chrono::duration<double> age =
            std::filesystem::file_time_type::clock::now() - when;
        about.written = ago(age.count());
    }
    return about;
}

/// `first` is the group that others are compared with.
std::string health_of(const line& about, const line* first) {
    if (!about.unreadable.empty()) return "unreadable: " + about.unreadable;
    const auto& [newest, is_finite, bytes, kept, torn] = about.found;
    std::string health;
    if (!torn.empty() && torn.front().kind == sotto::detail::checkpoint::refusal::unreadable)
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
    if (!is_finite) add("not finite");
    if (newest && newest->architecture != first->found.newest->architecture)
        add("other architecture than group-" + std::to_string(first->group));
    return health.empty() ? "whole" : health;
}

void print(const line& about, const std::string& health) {
    std::printf("group-%d", about.group);
    if (about.found.newest) {
        const auto& facts = *about.found.newest;
        char loss[40] = "unknown";
        if (std::isfinite(facts.label_loss))
            std::snprintf(loss, sizeof loss, "%.4g", facts.label_loss);
        std::printf("  step %lld  loss %s  written %s  %lld kept  %s  architecture %s",
                    static_cast<long long>(facts.step), loss, about.written.c_str(),
                    static_cast<long long>(about.found.kept), in_bytes(about.found.bytes).c_str(),
                    sotto::detail::checkpoint::hex(facts.architecture).substr(0, 8).c_str());
    }
    std::printf("  %s\n", sotto::printable(health).c_str());
}

exit_code list(const std::filesystem::path& folder) {
    sotto::detail::checkpoint::posix_files files;
    std::error_code why;
    const auto groups = sotto::detail::checkpoint::groups_in(files, folder, why);
    if (why) {
        std::fprintf(stderr, "sotto_teachers: cannot list '%s': %s\n",
                     sotto::printable(folder.string()).c_str(), why.message().c_str());
        return exit_code::usage;
    }
    if (groups.empty()) {
        std::fprintf(stderr,
                     "sotto_teachers: there are no groups in '%s'; expected folders group-0, "
                     "group-1, ...\n",
                     sotto::printable(folder.string()).c_str());
        return exit_code::fault;
    }
    std::vector<line> lines;
    for (const int group : groups) lines.push_back(look_at(files, folder, group));
    const auto first = std::ranges::find_if(
        lines, [](const line& about) { return about.found.newest.has_value(); });
    bool are_whole = true;
    for (const line& about : lines) {
        const std::string health = health_of(about, first == lines.end() ? nullptr : &*first);
        are_whole = are_whole && health == "whole";
        print(about, health);
    }
    return are_whole ? exit_code::done : exit_code::fault;
}

}  // namespace

int main(int argc, char** argv) try {
    sotto::open_standard_streams();
    const std::string_view given = argc > 1 ? argv[1] : "";
    if (argc == 2 && (given == "-h" || given == "--help")) {
        std::fputs(usage, stdout);
        sotto::require_standard_output();
        return static_cast<int>(exit_code::done);
    }
    if (argc != 2 || given.empty() || given[0] == '-') {
        const std::string_view odd = argc > 2 && !given.starts_with('-') ? argv[2] : given;
        std::fprintf(stderr, "sotto_teachers: one folder was expected, not '%s'\n%s",
                     sotto::printable(odd).c_str(), usage);
        return static_cast<int>(exit_code::usage);
    }
    const exit_code found = list(given);
    if (found == exit_code::done) sotto::require_standard_output();
    return static_cast<int>(found);
} catch (...) {
    return sotto::report_exception("sotto_teachers");
}
