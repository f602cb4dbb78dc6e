#pragma once

#include "sotto/checkpoint/detail/own_state.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <string_view>
#include <system_error>
#include <utility>

#include "sotto/checkpoint/detail/digest.hpp"
#include "sotto/checkpoint/detail/file_header.hpp"
#include "sotto/checkpoint/detail/file_reader.hpp"
#include "sotto/checkpoint/detail/file_writer.hpp"
#include "sotto/checkpoint/detail/folder_owner.hpp"
#include "sotto/checkpoint/detail/format_header.hpp"
#include "sotto/checkpoint/detail/former_names.hpp"
#include "sotto/checkpoint/detail/saved_fields.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"

namespace sotto::detail::checkpoint {

SOTTO_DECL own_state::own_state(std::string folder, std::string what, std::string configuration,
                                std::int64_t keep, disk files)
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
    require_same(file, "configuration", with_current_names(named("configuration")), configuration_);
    const auto step = step_of(file.path().filename().string());
    require_same(file, "step", named("step"), std::to_string(*step));
    return *step;
}

SOTTO_DECL void own_state::require_same(const file_reader& file, const char* name,
                                        const std::string& found,
                                        const std::string& expected) const {
    if (found == expected) return;
    // Shows only the line of a long text that differs.
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

SOTTO_DECL own_state::~own_state() = default;

SOTTO_DECL void own_state::own(const std::string& job,
                               const std::function<void(const std::string&)>& tell,
                               const std::function<void()>& keep_others) {
    std::error_code problem;
    files_.make_folder(folder_, problem);
    if (problem)
        throw io_failure(what_ + ": cannot make the folder '" + folder_ +
                         "': " + problem.message());
    if (!owner_) {
        claimant who;
        if (!job.empty()) who.job = job;
        owner_ = std::make_unique<folder_owner>(files_, folder_, std::move(who));
    }
    bool has_told = false;
    attempt_each_second(files_, true, [&] {
        std::string why;
        const ownership now = owner_->attempt(why);
        if (now == ownership::refused) throw invalid_option(what_ + ": " + why);
        if (now != ownership::waits) return false;
        if (!std::exchange(has_told, true)) tell(what_ + ": " + why);
        keep_others();
        return true;
    });
    owner_->use(true);
}

SOTTO_DECL std::vector<own_state::field> own_state::fields_of(const visit& show) {
    saved_fields shown;
    show(field_visitor(shown));
    std::vector<field> all = std::move(shown.alike);
    all.insert(all.end(), std::make_move_iterator(shown.apart.begin()),
               std::make_move_iterator(shown.apart.end()));
    return all;
}

SOTTO_DECL std::optional<std::int64_t> own_state::restore_shown(const visit& show) {
    std::optional<file_reader> file;
    std::vector<refused_file> refused;
    constexpr auto newest = (std::numeric_limits<std::int64_t>::max)();
    if (!open_newest(files_, folder_, file, refused, newest, &known_)) {
        if (refused.empty()) return std::nullopt;
        refuse_all(what_, folder_, refused);
    }
    refused_ = std::move(refused);
    const std::int64_t step = require_ours(*file);
    known_.push_back(step);
    const auto fields = fields_of(show);
    std::vector<std::size_t> places;
    for (const auto& f : fields) places.push_back(place_of(*file, f));
    for (std::size_t i = 0; i < fields.size(); ++i) file->read(places[i], fields[i].memory);
    return step;
}

SOTTO_DECL bool own_state::save_shown(const visit& show, std::int64_t step) {
    const auto fields = fields_of(show);
    sotto::detail::file_plan planned;
    planned.note("format", format);
    planned.note("step", std::to_string(step));
    planned.note("configuration", configuration_);
    planned.add("state", fields, sotto::detail::digest_of(fields));
    const bytes header = format_header(planned.finish());
    bool may_write = !owner_;
    const auto why_not = [&] {
        std::string why;
        if (owner_) why = why_not_write(files_, folder_, *owner_, known_);
        may_write = why.empty();
        return why;
    };
    file_writer file(files_, folder_, step, keep_, refused_, why_not);
    file.write_header(header);
    for (const auto& f : fields) file.write(f.memory);
    const bool done = file.finish();
    if (may_write) note_written(files_, folder_, step, known_);
    problem_ = done ? "" : what_ + ": " + file.problem();
    if (done)
        std::erase_if(refused_, [&](const refused_file& one) {
            return one.step == step || one.kind != refusal::unreadable;
        });
    return done;
}

}  // namespace sotto::detail::checkpoint
