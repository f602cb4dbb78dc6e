#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "sotto/checkpoint/detail/digest.hpp"
#include "sotto/checkpoint/detail/digester.hpp"
#include "sotto/checkpoint/detail/disk.hpp"
#include "sotto/checkpoint/detail/file_header.hpp"
#include "sotto/checkpoint/detail/generations.hpp"
#include "sotto/core/bytes.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/result.hpp"

namespace sotto::detail::checkpoint {

/// A checkpoint whose bytes are not those that were written; names the file, the section, what was
/// expected and what was found.
class damaged : public error {
public:
    /// The file, the section that is damaged, and how.
    damaged(const std::filesystem::path& file, std::string section, const std::string& what);

    /// Which section it is.
    const std::string& section() const noexcept { return section_; }

private:
    std::string section_;
};

/// A file that cannot be opened or read for a reason of its own: its disk fails, its permissions
/// forbid it, or it is no regular file. Another file may be readable.
class unreadable : public io_failure {
public:
    using io_failure::io_failure;
};

/// Whether a call failed because the process or the machine lacks descriptors or memory. That says
/// nothing about the file.
bool is_shortage(std::error_code why) noexcept;

/// Reads a checkpoint that is whole: the constructor has seen every byte of it and found the
/// digests right before anything is handed out.
///   cost    the file is read once to be checked, in pieces of 1 MiB, and each tensor again when it
///           is asked for
///   errors  damaged: any bit flipped, any length cut or added, also where a tensor has changed
///           since it was checked; unreadable: the system would not open or read it; io_failure: it
///           lacks descriptors or memory
class file_reader {
public:
    /// Opens the file, reads all of it and compares digests.
    file_reader(const disk& files, std::filesystem::path path);

    file_reader(const file_reader&) = delete;
    file_reader& operator=(const file_reader&) = delete;
    /// Closes the file.
    ~file_reader();

    /// What the file says of itself.
    const file_header& header() const noexcept { return header_; }
    /// Which file it is.
    const std::filesystem::path& path() const noexcept { return path_; }
    /// Bytes of the whole file, which was read once.
    std::int64_t bytes_read() const noexcept { return header_.file_bytes(); }

    /// The number of a tensor by its name.
    std::optional<std::size_t> find(std::string_view name) const noexcept;

    /// The bytes of a tensor; `into` is as long as they are.
    void read(std::size_t which, mutable_byte_view into);

private:
    static constexpr std::int64_t piece_bytes = std::int64_t{1} << 20;

    static bool same(const digest& a, const digest& b) noexcept;

    void read_header();

    template <class T>
    T parsed(result<T> found) const {
        if (!found) throw damaged(path_, "header", found.why().text());
        return std::move(*found);
    }

    /// Before a file that promises much is believed.
    void check_length() const;

    void check_digests();

    [[noreturn]] void refuse(const std::string& section, const digest& expected,
                             const digest& found) const;

    void get(std::int64_t offset, mutable_byte_view into, const std::string& section);

    [[noreturn]] void fail(const char* what, std::error_code why) const;

    disk files_;
    std::filesystem::path path_;
    int file_ = -1;
    std::int64_t size_ = 0;
    file_header header_;
    std::optional<entry_index> index_;
    digester whole_;
    digest header_digest_{};
    std::vector<digest> tensor_digests_;
};

/// Calls use(step) for the checkpoints of a folder, the newest first, until it returns true.
/// Returns whether it did. A checkpoint that is damaged or unreadable is added to `refused`, and
/// the one before it is tried. If it was removed meanwhile, a newer one is there: the folder is
/// listed again. `listed`, where it is given, receives the steps of all checkpoints.
///   errors  io_failure: the folder cannot be listed; the process lacks descriptors or memory
template <class Use>
bool for_newest(const disk& files, const std::filesystem::path& folder,
                std::vector<refused_file>& refused, Use use,
                std::vector<std::int64_t>* listed = nullptr) {
    constexpr int tries_max = 8;
    const auto list = [&] {
        std::error_code why;
        auto steps = generations(files, folder, why);
        if (why) throw io_failure("cannot list '" + folder.string() + "': " + why.message());
        return steps;
    };
    for (int tries = 1; true; ++tries) {
        bool is_outrun = false;
        refused.clear();
        const std::vector<std::int64_t> steps = list();
        if (listed) *listed = steps;
        for (const std::int64_t step : steps) {
            try {
                if (use(step)) return true;
            } catch (const damaged& e) {
                refused.push_back({step, e.what(), refusal::damaged});
            } catch (const unreadable& e) {
                is_outrun = tries < tries_max && std::ranges::count(list(), step) == 0;
                if (is_outrun) break;
                refused.push_back({step, e.what(), refusal::unreadable});
            }
        }
        if (!is_outrun) return false;
    }
}

/// Where none of a folder's checkpoints can be used: names each and says why.
///   errors  io_failure: one of them could not be read; else malformed
[[noreturn]] void refuse_all(const std::string& what, const std::filesystem::path& folder,
                             const std::vector<refused_file>& refused);

/// Opens the newest checkpoint of a folder that is whole, of step `at_most` or before; newer ones,
/// which are damaged, unreadable or of a later step, are in `refused` then. False where there is
/// none. `listed` as for for_newest.
///   errors  as for_newest
bool open_newest(const disk& files, const std::filesystem::path& folder,
                 std::optional<file_reader>& opened, std::vector<refused_file>& refused,
                 std::int64_t at_most = (std::numeric_limits<std::int64_t>::max)(),
                 std::vector<std::int64_t>* listed = nullptr);

}  // namespace sotto::detail::checkpoint

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/checkpoint/detail/file_reader.ipp"
#endif
