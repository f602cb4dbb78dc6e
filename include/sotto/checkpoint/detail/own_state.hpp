#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sotto/checkpoint/detail/disk.hpp"
#include "sotto/checkpoint/detail/field_visitor.hpp"
#include "sotto/checkpoint/detail/generations.hpp"

namespace sotto::detail::checkpoint {

class file_reader;
class folder_owner;

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
    own_state(std::string folder, std::string what, std::string configuration,
              std::int64_t keep = 2, disk files = {});
    ~own_state();

    /// Makes the folder this one's, as folder_owner does, until this ends. Waits while it is not
    /// known whether another owner lives, a minute at most, and calls tell(why) once if it has to.
    /// Each second it calls keep_others(), which keeps ranks that wait for this one from giving up.
    /// After `rest` another one of this process may have the folder, until this is called again.
    ///   errors  invalid_option: another owner lives; io_failure: the folder cannot be made
    void own(const std::string& job, const std::function<void(const std::string&)>& tell,
             const std::function<void()>& keep_others);
    /// Lets other trainers of this process take the folder over.
    void rest() noexcept;

    /// Fills the state from the newest file that is whole; its step, or nothing where there is
    /// none.
    template <class State>
    std::optional<std::int64_t> restore(State& state) {
        return restore_shown([&](const field_visitor& show) { state.visit(show); });
    }

    /// Whether it was written; else `problem` says why, and the older ones are there as before.
    template <class State>
    bool save(State& state, std::int64_t step) {
        return save_shown([&](const field_visitor& show) { state.visit(show); }, step);
    }

    /// What the last attempt to write failed by; empty if it did not.
    const std::string& problem() const noexcept { return problem_; }

private:
    using field = sotto::detail::saved_field;
    using visit = std::function<void(const field_visitor&)>;

    static std::vector<field> fields_of(const visit& show);

    std::optional<std::int64_t> restore_shown(const visit& show);

    bool save_shown(const visit& show, std::int64_t step);

    std::int64_t require_ours(const file_reader& file) const;

    void require_same(const file_reader& file, const char* name, const std::string& found,
                      const std::string& expected) const;

    std::size_t place_of(const file_reader& file, const field& wanted) const;

    disk files_;
    std::string folder_;
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
