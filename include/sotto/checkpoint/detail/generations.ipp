#pragma once

#include "sotto/checkpoint/detail/generations.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>

#include "sotto/core/config.hpp"

namespace sotto::detail::checkpoint {

SOTTO_DECL std::string file_name(std::int64_t step) {
    const std::string digits = std::to_string(step);
    return std::string(file_prefix)
        .append(12 - std::min<std::size_t>(digits.size(), 12), '0')
        .append(digits)
        .append(file_suffix);
}

SOTTO_DECL std::optional<std::int64_t> step_of(std::string_view name) {
    if (!name.starts_with(file_prefix) || !name.ends_with(file_suffix)) return std::nullopt;
    const std::string_view digits =
        name.substr(file_prefix.size(), name.size() - file_prefix.size() - file_suffix.size());
    std::int64_t step = 0;
    const auto [end, why] = std::from_chars(digits.data(), digits.data() + digits.size(), step);
    if (why != std::errc{} || step < 0 || file_name(step) != name) return std::nullopt;
    return step;
}

SOTTO_DECL bool is_unfinished(std::string_view name) {
    return name.ends_with(unfinished_suffix) &&
           step_of(name.substr(0, name.size() - unfinished_suffix.size())).has_value();
}

SOTTO_DECL std::vector<std::int64_t> generations(const disk& files, const std::string& folder,
                                                 std::error_code& why) {
    std::vector<std::int64_t> steps;
    for (const std::string& name : files.list(folder, why))
        if (const auto step = step_of(name)) steps.push_back(*step);
    if (why == std::errc::no_such_file_or_directory) why.clear();
    std::sort(steps.rbegin(), steps.rend());
    return steps;
}

SOTTO_DECL std::optional<std::int64_t> foreign_generation(const disk& files,
                                                          const std::string& folder,
                                                          std::span<const std::int64_t> known,
                                                          std::error_code& why) {
    for (const std::int64_t step : generations(files, folder, why))
        if (std::ranges::find(known, step) == known.end()) return step;
    return std::nullopt;
}

}  // namespace sotto::detail::checkpoint
