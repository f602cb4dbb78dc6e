#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "sotto/checkpoint/detail/digest.hpp"
#include "sotto/checkpoint/detail/file_header.hpp"
#include "sotto/checkpoint/detail/disk.hpp"
#include "sotto/checkpoint/detail/generations.hpp"
#include "sotto/checkpoint/detail/parse_header.hpp"
#include "sotto/checkpoint/detail/sections.hpp"
#include "sotto/core/bytes.hpp"
#include "sotto/core/config.hpp"
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
    file_reader(const disk& files, std::filesystem::path path) : files_(files), path_(std::move(path)) {
        std::error_code why;
        file_ = files_.open(path_, why);
        if (why) fail("open", why);
        try {
            read_header();
            check_length();
            check_digests();
        } catch (...) {
            files_.close(file_, why);
            throw;
        }
    }

    file_reader(const file_reader&) = delete;
    file_reader& operator=(const file_reader&) = delete;
    /// Closes the file.
    ~file_reader() {
        std::error_code ignored;
        files_.close(file_, ignored);
    }

    /// What the file says of itself.
    const file_header& header() const noexcept { return header_; }
    /// Which file it is.
    const std::filesystem::path& path() const noexcept { return path_; }
    /// Bytes of the whole file, which was read once.
    std::int64_t bytes_read() const noexcept { return header_.file_bytes(); }

    /// The number of a tensor by its name.
    std::optional<std::size_t> find(std::string_view name) const noexcept {
        return index_->find(name);
    }

    /// The bytes of a tensor; `into` is as long as they are.
    void read(std::size_t which, mutable_byte_view into) {
        const tensor_entry& entry = header_.tensors[which];
        get(header_.data_begin + entry.begin, into, section_of(entry.name));
        if (const digest found = digest_of(into); !same(tensor_digests_[which], found))
            refuse(section_of(entry.name), tensor_digests_[which], found);
    }

private:
    static constexpr std::int64_t piece_bytes = std::int64_t{1} << 20;

    static bool same(const digest& a, const digest& b) noexcept {
        return !digests_are_checked || a == b;
    }

    void read_header() {
        std::error_code why;
        size_ = files_.size(file_, why);
        if (why) fail("read", why);
        std::array<std::byte, file_header::length_bytes> room{};
        const auto word = std::span(room).first(
            static_cast<std::size_t>((std::min)(size_, file_header::length_bytes)));
        get(0, word, "header");
        const std::int64_t length = parsed(parse_header_length(word));
        bytes start(
            static_cast<std::size_t>((std::min)(size_, file_header::length_bytes + length)));
        get(0, start, "header");
        header_ = parsed(parse_header(start));
        index_.emplace(header_);
        whole_.update(start);
        header_digest_ = digest_of(start);
    }

    template <class T>
    T parsed(result<T> found) const {
        if (!found) throw damaged(path_, "header", found.why().text());
        return std::move(*found);
    }

    /// Before a file that promises much is believed.
    void check_length() const {
        if (header_.tensors.empty() || header_.tensors.back().name != digest_name ||
            header_.tensors.back().type != dtype::u8 ||
            header_.tensors.back().size_bytes() != std::int64_t{sizeof(closing_digests)})
            throw damaged(path_, "header",
                          "expected 32 bytes named '" + std::string(digest_name) +
                              "' as the last tensor, found " +
                              (header_.tensors.empty()
                                   ? "no tensor"
                                   : std::string("'") + header_.tensors.back().name + "'"));
        if (size_ == header_.file_bytes()) return;
        std::string section(digest_name);
        for (const tensor_entry& entry : header_.tensors)
            if (header_.data_begin + entry.end > size_) {
                section = section_of(entry.name);
                break;
            }
        throw damaged(path_, section,
                      "expected a file of " + std::to_string(header_.file_bytes()) +
                          " bytes, found " + std::to_string(size_));
    }

    void check_digests() {
        bytes piece(static_cast<std::size_t>((std::min)(piece_bytes, size_)));
        digester section;
        std::optional<damaged> first;
        const std::size_t last = header_.tensors.size() - 1;
        for (std::size_t i = 0; i < last; ++i) {
            const tensor_entry& entry = header_.tensors[i];
            const std::string name = section_of(entry.name);
            digester tensor;
            for (std::int64_t at = entry.begin; at < entry.end; at += piece_bytes) {
                const auto part = std::span(piece).first(
                    static_cast<std::size_t>((std::min)(piece_bytes, entry.end - at)));
                get(header_.data_begin + at, part, name);
                tensor.update(part);
                section.update(part);
                whole_.update(part);
            }
            tensor_digests_.push_back(tensor.value());
            if (i + 1 < last && section_of(header_.tensors[i + 1].name) == name) continue;
            const std::string found = hex(std::exchange(section, digester()).value());
            const std::string* expected = header_.metadata_named(digest_key(name));
            if (digests_are_checked && !first && (!expected || *expected != found))
                first.emplace(path_, name,
                              "expected digest " + (expected ? *expected : "in the header") +
                                  ", found " + found);
        }
        closing_digests expected;
        const auto room = std::as_writable_bytes(std::span(&expected, 1));
        get(header_.data_begin + header_.tensors[last].begin, room, std::string(digest_name));
        tensor_digests_.push_back(digest_of(room));
        const digest found = whole_.value();
        const bool header = same(expected.header, header_digest_), all = same(expected.all, found);
        // Where the header has changed, what it says of sections is worth nothing; where its digest
        // has, that of all bytes still holds.
        if (!header && !all) refuse("header", expected.header, header_digest_);
        if (first) throw *first;
        if (!header) refuse(std::string(digest_name), expected.header, header_digest_);
        if (!all) refuse(std::string(digest_name), expected.all, found);
    }

    [[noreturn]] void refuse(const std::string& section, const digest& expected,
                             const digest& found) const {
        throw damaged(path_, section, "expected digest " + hex(expected) + ", found " + hex(found));
    }

    void get(std::int64_t offset, mutable_byte_view into, const std::string& section) {
        const std::size_t wanted = into.size();
        while (!into.empty()) {
            std::error_code why;
            const std::int64_t got = files_.read(file_, offset, into, why);
            if (why) fail("read", why);
            if (got <= 0)
                throw damaged(path_, section,
                              "expected " + std::to_string(wanted) + " bytes, found " +
                                  std::to_string(wanted - into.size()));
            offset += got;
            into = into.subspan(static_cast<std::size_t>(got));
        }
    }

    [[noreturn]] void fail(const char* what, std::error_code why) const {
        const std::string text =
            std::string("cannot ") + what + " '" + path_.string() + "': " + why.message();
        if (is_shortage(why)) throw io_failure(text);
        throw unreadable(text);
    }

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
inline bool open_newest(const disk& files, const std::filesystem::path& folder,
                 std::optional<file_reader>& opened, std::vector<refused_file>& refused,
                 std::int64_t at_most = (std::numeric_limits<std::int64_t>::max)(),
                 std::vector<std::int64_t>* listed = nullptr) {
    const auto open = [&](std::int64_t step) {
        if (step > at_most) {
            refused.push_back({step, "'" + (folder / file_name(step)).string() +
                                         "' is newer than what others have, of step " +
                                         std::to_string(at_most)});
            return false;
        }
        opened.emplace(files, folder / file_name(step));
        return true;
    };
    return for_newest(files, folder, refused, open, listed);
}

}  // namespace sotto::detail::checkpoint

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/checkpoint/detail/file_reader.ipp"
#endif
