#pragma once

#include "sotto/checkpoint/detail/whole_file.hpp"

#include <cerrno>
#include <cstddef>
#include <utility>

#include "sotto/checkpoint/detail/generations.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/detail/files/file_kind.hpp"

namespace sotto::detail::checkpoint {

SOTTO_DECL whole_file::whole_file(const disk& files, const std::filesystem::path& path,
                                  survives what)
    : files_(files), syncs_(what == survives::power) {
    std::error_code why;
    path_ = files_.place(path, why);
    if (why) {
        fail("replace", path, why);
        return;
    }
    unfinished_ = path_.string() + std::string(unfinished_suffix);
    file_ = files_.create(unfinished_, why);
    if (why)
        fail("create", unfinished_, why);
    else
        open_ = created_ = true;
}

SOTTO_DECL void whole_file::write(byte_view piece) {
    while (ok() && !piece.empty()) {
        std::error_code why;
        const std::int64_t taken = files_.write(file_, piece, why);
        if (!why && taken <= 0) why = std::make_error_code(std::errc::io_error);
        if (why) return fail("write", unfinished_, why);
        piece = piece.subspan(static_cast<std::size_t>(taken));
        bytes_ += taken;
    }
}

SOTTO_DECL bool whole_file::finish() {
    std::error_code why;
    step(
        "sync", unfinished_,
        [&] {
            if (syncs_) files_.sync(file_, why);
        },
        why);
    step(
        "close", unfinished_,
        [&] {
            open_ = false;
            files_.close(file_, why);
        },
        why);
    step(
        "rename", unfinished_, [&] { files_.rename(unfinished_, path_, why); }, why);
    if (ok()) created_ = false;
    const std::filesystem::path folder = path_.parent_path();
    step(
        "sync the folder of", path_,
        [&] {
            if (syncs_) files_.sync_folder(folder.empty() ? "." : folder, why);
        },
        why);
    return ok();
}

SOTTO_DECL bool whole_file::lacks_room() const noexcept {
    return why_ == std::errc::no_space_on_device || why_.value() == EDQUOT;
}

SOTTO_DECL void whole_file::fail(const char* what, const std::filesystem::path& which,
                                 std::error_code why) {
    problem_ = std::string("cannot ") + what + " '" + which.string() +
               "': " + sotto::detail::why_not_replaced(why);
    why_ = why;
    give_up();
}

SOTTO_DECL void whole_file::give_up() noexcept {
    std::error_code ignored;
    if (std::exchange(open_, false)) files_.close(file_, ignored);
    if (std::exchange(created_, false)) files_.remove(unfinished_, ignored);
}

}  // namespace sotto::detail::checkpoint
