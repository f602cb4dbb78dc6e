#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sotto/checkpoint/detail/field_visitor.hpp"
#include "sotto/checkpoint/detail/file_reader.hpp"
#include "sotto/checkpoint/detail/disk.hpp"
#include "sotto/checkpoint/detail/file_writer.hpp"
#include "sotto/checkpoint/detail/folder_owner.hpp"
#include "sotto/checkpoint/detail/format_header.hpp"
#include "sotto/checkpoint/detail/generations.hpp"
#include "sotto/checkpoint/detail/saved_fields.hpp"
#include "sotto/core/bytes.hpp"
#include "sotto/core/errors.hpp"

namespace sotto::detail::checkpoint {

/// Checkpoints of what one process holds by itself, and shows by `visit(field)`; nobody else takes
/// part.
///   wire    a checkpoint's file with the one section "state", see sections.hpp; metadata: format,
///           step, configuration
///   errors  restore throws mismatch: it is of another configuration, or shows other names or
///           sizes; malformed: no file of the folder is whole; io_failure: none can be used, and
///           one cannot be read. Nothing is changed then, unless the disk fails or the file changes
///           while it is read
class own_state {
public:
    static constexpr const char* format = "sotto.state";  // what the metadata call such files

    /// `what`: whose state it is, for errors. `keep`: how many files.
    own_state(std::filesystem::path folder, std::string what, std::string configuration,
              std::int64_t keep = 2, disk files = {});

    /// Makes the folder this one's, as folder_owner does, until this ends. Waits while it is not
    /// known whether another owner lives, a minute at most, and calls tell(why) once if it has to.
    /// Each second it calls keep_others(), which keeps ranks that wait for this one from giving up.
    /// After `rest` another one of this process may have the folder, until this is called again.
    ///   errors  invalid_option: another owner lives; io_failure: the folder cannot be made
    void own(const std::string& job, auto&& tell, auto&& keep_others) {
        std::error_code problem;
        files_.make_folder(folder_, problem);
        if (problem)
            throw io_failure(what_ + ": cannot make the folder '" + folder_.string() +
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
    /// Lets other trainers of this process take the folder over.
    void rest() noexcept;

    /// Fills the state from the newest file that is whole; its step, or nothing where there is
    /// none.
    template <class State>
    std::optional<std::int64_t> restore(State& state) {
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
        const auto fields = fields_of(state);
        std::vector<std::size_t> places;
        for (const auto& f : fields) places.push_back(place_of(*file, f));
        for (std::size_t i = 0; i < fields.size(); ++i) file->read(places[i], fields[i].memory);
        return step;
    }

    /// Whether it was written; else `problem` says why, and the older ones are there as before.
    template <class State>
    bool save(State& state, std::int64_t step) {
        const auto fields = fields_of(state);
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

    /// What the last attempt to write failed by; empty if it did not.
    const std::string& problem() const noexcept { return problem_; }

private:
    using field = sotto::detail::saved_field;

    template <class State>
    static std::vector<field> fields_of(State& state) {
        sotto::detail::saved_fields shown;
        state.visit(sotto::detail::field_visitor(shown));
        std::vector<field> all = std::move(shown.alike);
        all.insert(all.end(), std::make_move_iterator(shown.apart.begin()),
                   std::make_move_iterator(shown.apart.end()));
        return all;
    }

    std::int64_t require_ours(const file_reader& file) const;

    void require_same(const file_reader& file, const char* name, const std::string& found,
                      const std::string& expected) const;

    std::size_t place_of(const file_reader& file, const field& wanted) const;

    disk files_;
    std::filesystem::path folder_;
    std::string what_, configuration_;
    std::int64_t keep_;
    std::vector<refused_file> refused_;
    std::vector<std::int64_t> known_;  // steps of all checkpoints that are its own
    std::unique_ptr<folder_owner> owner_;
    std::string problem_;
};

}  // namespace sotto::detail::checkpoint

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/checkpoint/detail/own_state.ipp"
#endif
