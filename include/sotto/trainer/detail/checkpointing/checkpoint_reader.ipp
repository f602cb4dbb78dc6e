#pragma once

#include "sotto/trainer/detail/checkpointing/checkpoint_reader.hpp"

#include "sotto/checkpoint/detail/file_reader.hpp"
#include "sotto/checkpoint/detail/saved_fields.hpp"
#include "sotto/collectives/detail/all_gather_values.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/exit_code.hpp"
#include "sotto/core/printable.hpp"
#include "sotto/trainer/detail/agreement.hpp"
#include "sotto/transports/fail_with_exception.hpp"

namespace sotto::detail {

SOTTO_DECL void checkpoint_reader::require_same_fields() {
    std::vector<checkpoint::digest> names(static_cast<std::size_t>(through_.size()));
    collectives::all_gather_values(through_, digest_of_names(fields_), std::span(names), label(4));
    for (std::size_t rank = 1; rank < names.size(); ++rank)
        if (names[rank] != names[0]) {
            through_.agree(true);  // every rank has compared before any rank throws
            throw mismatch("resume: rank " + std::to_string(rank) +
                           " has other names or shapes of parameters or state than rank 0");
        }
}

SOTTO_DECL void checkpoint_reader::add(const saved_field& field) {
    if (field.type == checkpoint::dtype::i64) return add_one<std::uint64_t>(field);
    if (field.type == checkpoint::dtype::f64) return add_one<double>(field);
    std::vector<float> sum(field.memory.size() / sizeof(float)), more(sum.size());
    copy(field.memory, std::as_writable_bytes(std::span(sum)));
    copy(room_, std::as_writable_bytes(std::span(more)));
    kernels::add(sum, more);
    copy(std::as_bytes(std::span(sum)), field.memory);
}

SOTTO_DECL void checkpoint_reader::copy(byte_view from, mutable_byte_view to) {
    std::copy(from.begin(), from.end(), to.begin());
}

SOTTO_DECL training_position checkpoint_reader::placed() const {
    training_position place = found_.place;
    const auto world = static_cast<std::size_t>(found_.world);
    const auto rank = static_cast<std::size_t>(through_.rank());
    if (same_world()) {
        place.examples = shares_[rank];
        place.of_this_rank = shares_[world + rank];
        return place;
    }
    place.of_this_rank = any_share;
    place.examples = place.own != 0 ? no_data : shares_[0];
    // All ranks together read an epoch's order from its front, round by round.
    const auto read =
        static_cast<std::uint64_t>(place.round) * static_cast<std::uint64_t>(found_.world);
    place.round = static_cast<std::int64_t>(read / static_cast<std::uint64_t>(through_.size()));
    return place;
}

SOTTO_DECL resume_report checkpoint_reader::read(const checkpoint::disk& files,
                                                 const std::string& folder, bool required,
                                                 const std::string& configuration,
                                                 training_position& place, std::string& torn,
                                                 std::int64_t at_most) {
    std::optional<checkpoint::file_reader> file;
    resume_report report;
    require_same_fields();
    at_most_ = at_most;
    if (!find(files, folder, required, configuration, file, report)) return report;
    torn = "it was not finished";
    try {
        fill(file ? &*file : nullptr);
    } catch (const peer_failure& e) {
        torn = e.what();
        throw;
    } catch (...) {
        torn = text_of_current_exception();
        if (through_.size() > 1) fail_with_exception(through_);
        throw;
    }
    torn.clear();
    place = placed();
    return report;
}

SOTTO_DECL bool checkpoint_reader::find(const checkpoint::disk& files, const std::string& folder,
                                        bool required, const std::string& configuration,
                                        std::optional<checkpoint::file_reader>& file,
                                        resume_report& report) {
    tidings path, refused;
    if (through_.rank() == 0) {
        try {
            open(files, folder, required, configuration, file);
        } catch (const error& e) {
            path.fail(e.code(), e.what());
        }
        for (const auto& one : refused_) report.refused.append(printable(one.why)).append("\n");
        refused.say(report.refused);
        path.number = file ? 1 : 0;
        if (path.code == 0 && file) path.say(file->path().string());
    }
    give_to_all(through_, path, label(5));
    path.raise_if_failed(through_);
    if (path.number == 0) return false;
    give_to_all(through_, refused, label(5));
    give_to_all(through_, std::as_writable_bytes(std::span(&found_, 1)), label(5));
    shares_.resize(2 * static_cast<std::size_t>(found_.world));
    give_to_all(through_, std::as_writable_bytes(std::span(shares_)), label(5));
    report = {.found = true,
              .file = path.said(),
              .step = found_.place.step,
              .epoch = found_.place.epoch,
              .world_size = static_cast<int>(found_.world),
              .refused = printable_lines(refused.said())};
    return true;
}

SOTTO_DECL void checkpoint_reader::open(const checkpoint::disk& files, const std::string& folder,
                                        bool required, const std::string& configuration,
                                        std::optional<checkpoint::file_reader>& file) {
    if (!checkpoint::open_newest(files, folder, file, refused_, at_most_, &listed_)) {
        if (refused_.empty() && !required) return;
        if (refused_.empty())
            throw io_failure("resume: there is no checkpoint in '" + folder + "'");
        checkpoint::refuse_all("resume", folder, refused_);
    }
    try {
        check_format(*file);
        check_configuration(*file, configuration);
        if (const auto wrong = read_place(file->header(), found_, shares_); !wrong.empty())
            refuse(*file, wrong);
        if (fields_.of_one_world && !same_world())
            refuse(*file, "its " + std::to_string(found_.world) +
                              " ranks each had parameters and memory of their own, which " +
                              std::to_string(through_.size()) + " ranks cannot go on with");
        check_tensors(*file);
    } catch (...) {
        file.reset();
        throw;
    }
}

}  // namespace sotto::detail
