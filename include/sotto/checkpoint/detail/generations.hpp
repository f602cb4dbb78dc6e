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
std::string file_name(std::int64_t step);

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
std::optional<std::int64_t> step_of(std::string_view name);

/// Whether this is the name of a checkpoint that was never completed.
bool is_unfinished(std::string_view name);

/// The steps of all checkpoints in a folder, the newest first; none where there is no folder.
std::vector<std::int64_t> generations(const disk& files, const std::string& folder,
                                      std::error_code& why);

/// The newest checkpoint in a folder whose step is none of these; nothing if there is none.
std::optional<std::int64_t> foreign_generation(const disk& files, const std::string& folder,
                                               std::span<const std::int64_t> known,
                                               std::error_code& why);

}  // namespace sotto::detail::checkpoint

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/checkpoint/detail/generations.ipp"
#endif
