#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "sotto/checkpoint/detail/file_system.hpp"

namespace sotto::detail::checkpoint {

// A folder holds the checkpoints of one run. Each has a name of its own, by its step, so that no
// file is ever written over or renamed once it is complete: a newer one appears beside it, and the
// oldest goes only after that.

/// What every checkpoint's name begins with.
inline constexpr std::string_view file_prefix = "checkpoint-";
/// What every checkpoint's name ends with.
inline constexpr std::string_view file_suffix = ".safetensors";
/// What the name of a file that is not whole yet ends with, behind that.
inline constexpr std::string_view unfinished_suffix = ".unfinished";

/// "checkpoint-000000001200.safetensors": names sort as steps do.
inline std::string file_name(std::int64_t step) {
    const std::string digits = std::to_string(step);
    return std::string(file_prefix)
        .append(12 - std::min<std::size_t>(digits.size(), 12), '0')
        .append(digits)
        .append(file_suffix);
}

/// Why a checkpoint was not used.
///   damaged     its bytes are not those that were written
///   unreadable  the system would not open or read it: what is in it is not known
///   too_new     others have none of its step
enum class refusal : std::uint8_t { damaged, unreadable, too_new };

/// A checkpoint that was not used, and why.
struct refused_file {
    std::int64_t step = 0;            // of its name
    std::string why;                  // what is wrong with it, in a sentence
    refusal kind = refusal::too_new;  // of reason
};

/// The step of a checkpoint's name; nothing for other names.
inline std::optional<std::int64_t> step_of(std::string_view name) {
    if (!name.starts_with(file_prefix) || !name.ends_with(file_suffix)) return std::nullopt;
    const std::string_view digits =
        name.substr(file_prefix.size(), name.size() - file_prefix.size() - file_suffix.size());
    std::int64_t step = 0;
    const auto [end, why] = std::from_chars(digits.data(), digits.data() + digits.size(), step);
    if (why != std::errc{} || step < 0 || file_name(step) != name) return std::nullopt;
    return step;
}

/// Whether this is the name of a checkpoint that was never completed.
inline bool is_unfinished(std::string_view name) {
    return name.ends_with(unfinished_suffix) &&
           step_of(name.substr(0, name.size() - unfinished_suffix.size())).has_value();
}

/// The steps of all checkpoints in a folder, the newest first; none where there is no folder.
template <file_system Files>
std::vector<std::int64_t> generations(Files& files, const std::filesystem::path& folder,
                                      std::error_code& why) {
    std::vector<std::int64_t> steps;
    for (const std::string& name : files.list(folder, why))
        if (const auto step = step_of(name)) steps.push_back(*step);
    if (why == std::errc::no_such_file_or_directory) why.clear();
    std::sort(steps.rbegin(), steps.rend());
    return steps;
}

/// The newest checkpoint in a folder whose step is none of these; nothing if there is none.
template <file_system Files>
std::optional<std::int64_t> foreign_generation(Files& files, const std::filesystem::path& folder,
                                               std::span<const std::int64_t> known,
                                               std::error_code& why) {
    for (const std::int64_t step : generations(files, folder, why))
        if (std::ranges::find(known, step) == known.end()) return step;
    return std::nullopt;
}

}  // namespace sotto::detail::checkpoint
