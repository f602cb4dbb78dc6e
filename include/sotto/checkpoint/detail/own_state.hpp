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

/// Checkpoints of the state of one process, which the state passes to `visit(field)`. No other rank
/// takes part.
///   wire    a checkpoint's file with the single section "state", see sections.hpp; metadata:
///           format, step, configuration
///   errors  restore throws mismatch: another configuration, or other names or sizes; malformed: no
///           file of the folder is whole; io_failure: none is usable, and one cannot be read. The
///           state then stays unchanged, unless the disk fails or the file changes during the read
class own_state {
public:
    static constexpr const char* format = "sotto.state";  // format in the metadata

    /// `what` names the owner of the state in errors. `keep`: number of files to keep.
    own_state(std::string folder, std::string what, std::string configuration,
              std::int64_t keep = 2, disk files = {});
    ~own_state();

    /// Owns the folder like folder_owner, until destruction. While it is unknown if another owner
    /// lives, it waits, at most a minute, and calls tell(why) once. Each second of the wait it
    /// calls keep_others(), so that ranks that wait for this one do not drop it. After `rest`,
    /// another object of this process may own the folder until the next call.
    ///   errors  invalid_option: another owner lives; io_failure: the folder cannot be made
    void own(const std::string& job, const std::function<void(const std::string&)>& tell,
             const std::function<void()>& keep_others);
    /// Lets other trainers of this process own the folder.
    void rest() noexcept;

    /// Restores the state from the newest whole file. Returns its step, or nothing if there is no
    /// file.
    template <class State>
    std::optional<std::int64_t> restore(State& state) {
        return restore_shown([&](const field_visitor& show) { state.visit(show); });
    }

    /// Writes the state; returns false on failure. `problem` then returns the reason, and the older
    /// files stay.
    template <class State>
    bool save(State& state, std::int64_t step) {
        return save_shown([&](const field_visitor& show) { state.visit(show); }, step);
    }

    /// Returns why the last write failed; empty if it did not.
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
    std::vector<std::int64_t> known_;  // steps of all its checkpoints
    std::unique_ptr<folder_owner> owner_;
    std::string problem_;
};

}  // namespace sotto::detail::checkpoint

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/checkpoint/detail/own_state.ipp"
#endif
