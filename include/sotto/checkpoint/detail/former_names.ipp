#pragma once

#include "sotto/checkpoint/detail/former_names.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "sotto/core/config.hpp"

namespace sotto::detail::checkpoint {

struct renamed {
    std::string_view former, current;
};

/// Options: the last part of the name before " = ".
inline constexpr std::array renamed_options{renamed{"group_bytes", "bucket_bytes"}};

/// Types: the whole text after " = ".
inline constexpr std::array renamed_types{renamed{"random_pairs", "noloco"},
                                          renamed{"nn::widen", "nn::option_a_shortcut"}};

SOTTO_DECL std::string with_current_names(std::string_view configuration) {
    std::string text;
    text.reserve(configuration.size());
    const auto append = [&](std::string_view name, std::span<const renamed> table) {
        const auto found = std::ranges::find(table, name, &renamed::former);
        text += found == table.end() ? name : found->current;
    };
    while (!configuration.empty()) {
        const std::string_view line = configuration.substr(0, configuration.find('\n'));
        const std::size_t middle = line.find(" = ");
        if (middle == line.npos) {
            text += line;
        } else {
            const std::size_t dot = line.rfind('.', middle);
            const std::size_t name = dot == line.npos ? 0 : dot + 1;
            text += line.substr(0, name);
            append(line.substr(name, middle - name), renamed_options);
            text += " = ";
            append(line.substr(middle + 3), renamed_types);
        }
        if (line.size() < configuration.size()) text += '\n';
        configuration.remove_prefix((std::min)(line.size() + 1, configuration.size()));
    }
    return text;
}

}  // namespace sotto::detail::checkpoint
