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

/// A checkpoint whose bytes have changed since they were written. The text names the file, the
/// section, what was expected and what was found.
class damaged : public error {
public:
    /// Names the file and the damaged section; `what` describes the damage.
    damaged(const std::filesystem::path& file, std::string section, const std::string& what);

    /// Returns the damaged section.
    const std::string& section() const noexcept { return section_; }

private:
    std::string section_;
};

/// A file that cannot be opened or read because of its disk or its permissions, or because it is
/// not a regular file. Another file may be readable.
class unreadable : public io_failure {
public:
    using io_failure::io_failure;
};

/// True if a call failed because the process or the machine lacks descriptors or memory. The file
/// itself may be good.
bool is_shortage(std::error_code why) noexcept;

/// Reads a whole checkpoint. The constructor reads every byte and checks the digests before the
/// reader returns any content.
///   cost    reads the file once to check it, in pieces of 1 MiB, and each tensor again on request
///   errors  damaged: any bit flipped, any length cut or added, also if a tensor has changed since
///           the check; unreadable: the system refused to open or read it; io_failure: the system
///           lacks descriptors or memory
class file_reader {
public:
    /// Opens the file, reads all of it and checks the digests.
    file_reader(const disk& files, std::filesystem::path path);

    file_reader(const file_reader&) = delete;
    file_reader& operator=(const file_reader&) = delete;
    /// Closes the file.
    ~file_reader();

    /// Returns the header of the file.
    const file_header& header() const noexcept { return header_; }
    /// Returns the path of the file.
    const std::filesystem::path& path() const noexcept { return path_; }
    /// Returns the bytes of the whole file, which the constructor read once.
    std::int64_t bytes_read() const noexcept { return header_.file_bytes(); }

    /// Returns the number of the tensor with this name.
    std::optional<std::size_t> find(std::string_view name) const noexcept;

    /// Reads the bytes of a tensor; `into` has the same size.
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

    /// Compares the file's length with its header before the content is read.
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

/// Calls use(step) for the checkpoints of a folder, newest first, until it returns true. Returns
/// false if it never does. It adds a damaged or unreadable checkpoint to `refused` and tries the
/// one before it. If a checkpoint was removed since the listing, a newer one exists: the function
/// lists the folder again. `listed`, if given, receives the steps of all checkpoints.
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

/// Throws if no checkpoint of a folder is usable. The text names each one and the reason.
///   errors  io_failure: at least one could not be read; else malformed
[[noreturn]] void refuse_all(const std::string& what, const std::filesystem::path& folder,
                             const std::vector<refused_file>& refused);

/// Opens the newest whole checkpoint of a folder, of step `at_most` or before. `refused` receives
/// newer ones, which are damaged, unreadable or of a later step. Returns false if there is no whole
/// one. `listed` is as in for_newest.
///   errors  as for_newest
bool open_newest(const disk& files, const std::filesystem::path& folder,
                 std::optional<file_reader>& opened, std::vector<refused_file>& refused,
                 std::int64_t at_most = (std::numeric_limits<std::int64_t>::max)(),
                 std::vector<std::int64_t>* listed = nullptr);

}  // namespace sotto::detail::checkpoint

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/checkpoint/detail/file_reader.ipp"
#endif
