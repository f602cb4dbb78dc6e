#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "sotto/checkpoint/detail/disk.hpp"

namespace sotto::detail::checkpoint {

// A folder holds the checkpoints of one run. The step is part of each name, so no complete file is
// ever overwritten or renamed: a newer one appears beside it, and only then the oldest is removed.

/// First part of a checkpoint's name.
inline constexpr std::string_view file_prefix = "checkpoint-";
/// Last part of a checkpoint's name.
inline constexpr std::string_view file_suffix = ".safetensors";
/// Suffix of a file that is not whole yet, after file_suffix.
inline constexpr std::string_view unfinished_suffix = ".unfinished";

/// Returns "checkpoint-000000001200.safetensors": names sort like steps.
std::string file_name(std::int64_t step);

/// Why a checkpoint was not used.
///   damaged     its bytes have changed since they were written
///   unreadable  the system refused to open or read it: its content is unknown
///   too_new     other ranks have no checkpoint of its step
enum class refusal : std::uint8_t { damaged, unreadable, too_new };

/// A checkpoint that was not used, and the reason.
struct refused_file {
    std::int64_t step = 0;            // step in its name
    std::string why;                  // reason as a sentence
    refusal kind = refusal::too_new;  // kind of the reason
};

/// Returns the step in a checkpoint's name; nothing for other names.
std::optional<std::int64_t> step_of(std::string_view name);

/// True if this is the name of a checkpoint that was never completed.
bool is_unfinished(std::string_view name);

/// Returns the steps of all checkpoints in a folder, newest first; none if there is no folder.
std::vector<std::int64_t> generations(const disk& files, const std::string& folder,
                                      std::error_code& why);

/// Returns the newest checkpoint in a folder whose step is not in `known`, or nothing.
std::optional<std::int64_t> foreign_generation(const disk& files, const std::string& folder,
                                               std::span<const std::int64_t> known,
                                               std::error_code& why);

}  // namespace sotto::detail::checkpoint

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/checkpoint/detail/generations.ipp"
#endif
