#pragma once

#include "sotto/checkpoint/detail/file_reader.hpp"

#include <array>
#include <cstddef>
#include <span>

#include "sotto/checkpoint/detail/digester.hpp"
#include "sotto/checkpoint/detail/parse_header.hpp"
#include "sotto/checkpoint/detail/sections.hpp"
#include "sotto/core/config.hpp"

namespace sotto::detail::checkpoint {

SOTTO_DECL damaged::damaged(const std::filesystem::path& file, std::string section,
                            const std::string& what)
    : error(errc::malformed,
            std::string("'") + file.string() + "' is damaged: section '" + section + "': " + what),
      section_(std::move(section)) {}

SOTTO_DECL bool is_shortage(std::error_code why) noexcept {
    return why == std::errc::too_many_files_open ||
           why == std::errc::too_many_files_open_in_system || why == std::errc::not_enough_memory ||
           why == std::errc::no_buffer_space;
}

SOTTO_DECL void refuse_all(const std::string& what, const std::filesystem::path& folder,
                           const std::vector<refused_file>& refused) {
    const bool is_unreadable =
        std::ranges::find(refused, refusal::unreadable, &refused_file::kind) != refused.end();
    std::string text = what + ": no checkpoint in '" + folder.string() + "' " +
                       (is_unreadable ? "can be read" : "is whole");
    for (const refused_file& one : refused) text.append("; ").append(one.why);
    if (is_unreadable) throw io_failure(text);
    throw error(errc::malformed, text);
}

SOTTO_DECL file_reader::file_reader(const disk& files, std::filesystem::path path)
    : files_(files), path_(std::move(path)) {
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

SOTTO_DECL file_reader::~file_reader() {
    std::error_code ignored;
    files_.close(file_, ignored);
}

SOTTO_DECL std::optional<std::size_t> file_reader::find(std::string_view name) const noexcept {
    return index_->find(name);
}

SOTTO_DECL void file_reader::read(std::size_t which, mutable_byte_view into) {
    const tensor_entry& entry = header_.tensors[which];
    get(header_.data_begin + entry.begin, into, section_of(entry.name));
    if (const digest found = digest_of(into); !same(tensor_digests_[which], found))
        refuse(section_of(entry.name), tensor_digests_[which], found);
}

SOTTO_DECL bool file_reader::same(const digest& a, const digest& b) noexcept {
    return !digests_are_checked || a == b;
}

SOTTO_DECL void file_reader::read_header() {
    std::error_code why;
    size_ = files_.size(file_, why);
    if (why) fail("read", why);
    std::array<std::byte, file_header::length_bytes> room{};
    const auto word = std::span(room).first(
        static_cast<std::size_t>((std::min)(size_, file_header::length_bytes)));
    get(0, word, "header");
    const std::int64_t length = parsed(parse_header_length(word));
    bytes start(static_cast<std::size_t>((std::min)(size_, file_header::length_bytes + length)));
    get(0, start, "header");
    header_ = parsed(parse_header(start));
    index_.emplace(header_);
    whole_.update(start);
    header_digest_ = digest_of(start);
}

SOTTO_DECL void file_reader::check_length() const {
    if (header_.tensors.empty() || header_.tensors.back().name != digest_name ||
        header_.tensors.back().type != dtype::u8 ||
        header_.tensors.back().size_bytes() != std::int64_t{sizeof(closing_digests)})
        throw damaged(
            path_, "header",
            "expected 32 bytes named '" + std::string(digest_name) +
                "' as the last tensor, found " +
                (header_.tensors.empty() ? "no tensor"
                                         : std::string("'") + header_.tensors.back().name + "'"));
    if (size_ == header_.file_bytes()) return;
    std::string section(digest_name);
    for (const tensor_entry& entry : header_.tensors)
        if (header_.data_begin + entry.end > size_) {
            section = section_of(entry.name);
            break;
        }
    throw damaged(path_, section,
                  "expected a file of " + std::to_string(header_.file_bytes()) + " bytes, found " +
                      std::to_string(size_));
}

SOTTO_DECL void file_reader::check_digests() {
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
            first.emplace(
                path_, name,
                "expected digest " + (expected ? *expected : "in the header") + ", found " + found);
    }
    closing_digests expected;
    const auto room = std::as_writable_bytes(std::span(&expected, 1));
    get(header_.data_begin + header_.tensors[last].begin, room, std::string(digest_name));
    tensor_digests_.push_back(digest_of(room));
    const digest found = whole_.value();
    const bool header = same(expected.header, header_digest_), all = same(expected.all, found);
    // A changed header makes its section digests worthless. If only the digest of the header
    // changed, the digest of all bytes is still valid.
    if (!header && !all) refuse("header", expected.header, header_digest_);
    if (first) throw *first;
    if (!header) refuse(std::string(digest_name), expected.header, header_digest_);
    if (!all) refuse(std::string(digest_name), expected.all, found);
}

SOTTO_DECL void file_reader::refuse(const std::string& section, const digest& expected,
                                    const digest& found) const {
    throw damaged(path_, section, "expected digest " + hex(expected) + ", found " + hex(found));
}

SOTTO_DECL void file_reader::get(std::int64_t offset, mutable_byte_view into,
                                 const std::string& section) {
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

SOTTO_DECL void file_reader::fail(const char* what, std::error_code why) const {
    const std::string text =
        std::string("cannot ") + what + " '" + path_.string() + "': " + why.message();
    if (is_shortage(why)) throw io_failure(text);
    throw unreadable(text);
}

SOTTO_DECL bool open_newest(const disk& files, const std::filesystem::path& folder,
                            std::optional<file_reader>& opened, std::vector<refused_file>& refused,
                            std::int64_t at_most, std::vector<std::int64_t>* listed) {
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
