#pragma once

#include "sotto/checkpoint/detail/own_state.hpp"

#include <algorithm>
#include <string_view>

#include "sotto/checkpoint/detail/digest.hpp"
#include "sotto/checkpoint/detail/file_header.hpp"
#include "sotto/core/config.hpp"

namespace sotto::detail::checkpoint {

SOTTO_DECL own_state::own_state(std::filesystem::path folder, std::string what,
                                std::string configuration, std::int64_t keep, disk files)
    : files_(std::move(files)),
      folder_(std::move(folder)),
      what_(std::move(what)),
      configuration_(std::move(configuration)),
      keep_(keep) {}

SOTTO_DECL void own_state::rest() noexcept {
    if (owner_) owner_->use(false);
}

SOTTO_DECL std::int64_t own_state::require_ours(const file_reader& file) const {
    const auto named = [&](const char* name) -> std::string {
        const std::string* const found = file.header().metadata_named(name);
        return found ? *found : "nothing";
    };
    require_same(file, "format", named("format"), format);
    require_same(file, "configuration", named("configuration"), configuration_);
    const auto step = step_of(file.path().filename().string());
    require_same(file, "step", named("step"), std::to_string(*step));
    return *step;
}

SOTTO_DECL void own_state::require_same(const file_reader& file, const char* name,
                                        const std::string& found,
                                        const std::string& expected) const {
    if (found == expected) return;
    // Of long texts what differs.
    const auto at = static_cast<std::size_t>(
        std::mismatch(found.begin(), found.end(), expected.begin(), expected.end()).first -
        found.begin());
    const std::size_t from = found.rfind('\n', at) == found.npos ? 0 : found.rfind('\n', at) + 1;
    const auto line = [&](const std::string& text) {
        return text.substr((std::min)(from, text.size()),
                           text.find('\n', (std::min)(at, text.size())) - from);
    };
    throw mismatch(what_ + ": '" + file.path().string() + "' has " + name + " '" + line(found) +
                   "'; expected '" + line(expected) + "'");
}

SOTTO_DECL std::size_t own_state::place_of(const file_reader& file, const field& wanted) const {
    const auto at = file.find("state/" + wanted.name);
    const auto size = static_cast<std::int64_t>(wanted.memory.size());
    const auto refuse = [&](const std::string& found) {
        throw mismatch(what_ + ": '" + file.path().string() + "' has " + found + "; expected '" +
                       wanted.name + "' of " + std::to_string(size) + " bytes");
    };
    if (!at) refuse("no '" + wanted.name + "'");
    const tensor_entry& entry = file.header().tensors[*at];
    if (entry.type != wanted.type || entry.size_bytes() != size)
        refuse("'" + wanted.name + "' of " + std::to_string(entry.size_bytes()) + " bytes of " +
               std::string(name_of(entry.type)));
    return *at;
}

}  // namespace sotto::detail::checkpoint
