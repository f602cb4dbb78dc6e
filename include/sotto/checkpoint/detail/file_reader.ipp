#pragma once

#include "sotto/checkpoint/detail/file_reader.hpp"

#include "sotto/core/config.hpp"

namespace sotto::detail::checkpoint {

SOTTO_DECL damaged::damaged(const std::filesystem::path& file, std::string section,
                            const std::string& what)
    : error(errc::malformed,
            std::string("'") + file.string() + "' is damaged: section '" + section + "': " + what),
      section_(std::move(section)) {}

SOTTO_DECL bool is_shortage(std::error_code why) noexcept {
    return why == std::errc::too_many_files_open ||
           why == std::errc::too_many_files_open_in_system || why == std::errc::not_enough_memory ||
           why == std::errc::no_buffer_space;
}

SOTTO_DECL void refuse_all(const std::string& what, const std::filesystem::path& folder,
                           const std::vector<refused_file>& refused) {
    const bool is_unreadable =
        std::ranges::find(refused, refusal::unreadable, &refused_file::kind) != refused.end();
    std::string text = what + ": no checkpoint in '" + folder.string() + "' " +
                       (is_unreadable ? "can be read" : "is whole");
    for (const refused_file& one : refused) text.append("; ").append(one.why);
    if (is_unreadable) throw io_failure(text);
    throw error(errc::malformed, text);
}

}  // namespace sotto::detail::checkpoint
