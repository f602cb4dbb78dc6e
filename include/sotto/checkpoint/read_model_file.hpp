#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "sotto/checkpoint/digest.hpp"
#include "sotto/checkpoint/file_header.hpp"
#include "sotto/checkpoint/file_reader.hpp"
#include "sotto/checkpoint/file_system.hpp"
#include "sotto/checkpoint/model_file.hpp"
#include "sotto/checkpoint/parse_header.hpp"
#include "sotto/checkpoint/published_model.hpp"
#include "sotto/checkpoint/sections.hpp"
#include "sotto/core/bytes.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/core/result.hpp"

namespace sotto::checkpoint {

namespace detail {

/// Appends what a file names.
///   errors  malformed: it names what no model has, such as more than 2^40 floats
inline void add_tensor(layout& names, const std::filesystem::path& file, std::string name,
                       const std::vector<std::int64_t>& shape) {
    try {
        names.add(std::move(name), shape);
    } catch (const invalid_option& e) {
        throw error(errc::malformed,
                    "'" + file.string() + "' is no whole file of a model: " + e.what());
    }
}

/// Out of a checkpoint or a published model. Of ranks' buffers it is the mean, as an evaluation
/// sees it.
inline model_values read_sections(const std::filesystem::path& path) {
    posix_files files;
    file_reader<posix_files> file(files, path);
    const auto take = [&](const std::string& section, layout& names, std::vector<float>& values) {
        const auto& tensors = file.header().tensors;
        for (std::size_t i = 0; i < tensors.size(); ++i) {
            if (section_of(tensors[i].name) != section || tensors[i].type != dtype::f32) continue;
            add_tensor(names, path, tensors[i].name.substr(section.size() + 1), tensors[i].shape);
            values.resize(static_cast<std::size_t>(names.size()));
            const auto size = static_cast<std::size_t>(tensors[i].size_bytes()) / sizeof(float);
            file.read(i, std::as_writable_bytes(std::span(values).last(size)));
        }
    };
    model_values found;
    take("parameters", found.kind.parameters, found.parameters);
    if (found.parameters.empty())
        throw mismatch("'" + path.string() +
                       "' is a checkpoint of ranks that each had parameters of their own: "
                       "resume from it and save the model");
    take(buffers_section(0), found.kind.buffers, found.buffers);
    int ranks = 1;
    for (;; ++ranks) {
        layout names;
        std::vector<float> more;
        take(buffers_section(ranks), names, more);
        if (more.empty()) break;
        if (more.size() != found.buffers.size())
            throw error(errc::malformed, "'" + path.string() + "': expected " +
                                             std::to_string(found.buffers.size()) +
                                             " values of buffers of rank " + std::to_string(ranks) +
                                             ", found " + std::to_string(more.size()));
        std::ranges::transform(found.buffers, more, found.buffers.begin(), std::plus<>());
    }
    for (float& value : found.buffers) value *= 1.0f / static_cast<float>(ranks);
    return found;
}

/// A file that is read from its beginning.
class model_input {
public:
    explicit model_input(const std::filesystem::path& path) : name_("'" + path.string() + "'") {
        std::error_code why;
        file_ = files_.open(path, why);
        require_done(why);
        size_ = files_.size(file_, why);
        if (why) close();
        require_done(why);
    }
    model_input(const model_input&) = delete;
    model_input& operator=(const model_input&) = delete;
    ~model_input() { close(); }

    std::int64_t size() const noexcept { return size_; }

    void read(mutable_byte_view into) {
        const std::size_t wanted = into.size();
        while (!into.empty()) {
            std::error_code why;
            const std::int64_t got = files_.read(file_, at_, into, why);
            require_done(why);
            if (got == 0)
                refuse("expected " + std::to_string(wanted) + " more bytes, found " +
                       std::to_string(wanted - into.size()));
            at_ += got;
            into = into.subspan(static_cast<std::size_t>(got));
        }
    }

    [[noreturn]] void refuse(const std::string& why) const {
        throw error(errc::malformed, name_ + " is no whole file of a model: " + why);
    }
    /// A value, where parsing was no failure.
    template <class T>
    T parsed(result<T> found) const {
        if (!found) refuse(found.why().text());
        return std::move(*found);
    }

private:
    void require_done(std::error_code why) const {
        if (why) throw io_failure("cannot read " + name_ + ": " + why.message());
    }

    void close() noexcept {
        std::error_code ignored;
        files_.close(file_, ignored);
    }

    std::string name_;
    posix_files files_;
    int file_ = -1;
    std::int64_t size_ = 0, at_ = 0;
};

}  // namespace detail

/// Reads what write_model_file wrote; also checkpoints of a training whose ranks have the same
/// parameters, and published models.
///   cost    the file is read once, a checkpoint twice
///   errors  io_failure: the system would not open or read it; malformed: it is not whole, a bit of
///           it has changed, or it is no safetensors file; mismatch: it is one of something else
inline model_values read_model_file(const std::filesystem::path& path) {
    detail::model_input in(path);
    bytes start(file_header::length_bytes);
    in.read(start);
    const std::int64_t length = in.parsed(parse_header_length(start));
    start.resize(start.size() + static_cast<std::size_t>(length));
    in.read(std::span(start).subspan(file_header::length_bytes));
    const file_header header = in.parsed(parse_header(start));
    const auto said = [&](const char* name) -> std::string_view {
        const std::string* text = header.metadata_named(name);
        return text ? std::string_view(*text) : "nothing";
    };
    const auto require = [&](const char* name, std::string_view expected) {
        if (said(name) != expected)
            throw mismatch("'" + path.string() + "' is no file of a model: its " + name + " is " +
                           std::string(said(name)) + "; expected " + std::string(expected));
    };
    if (said("format") == "sotto.checkpoint" || said("format") == "sotto.model") {
        require("format.version", "1");
        return detail::read_sections(path);
    }
    require("format", "sotto.model_file");
    require("format.version", "1");
    if (in.size() != header.file_bytes())
        in.refuse("expected " + std::to_string(header.file_bytes()) + " bytes, found " +
                  std::to_string(in.size()));
    std::size_t buffers = 0;
    if (!detail::read_number(header.metadata_named("buffers"), buffers) ||
        buffers > header.tensors.size())
        in.refuse("of " + std::to_string(header.tensors.size()) +
                  " tensors are buffers: " + std::string(said("buffers")));
    model_values found;
    std::size_t of_parameters = header.tensors.size() - buffers;
    for (const tensor_entry& entry : header.tensors) {
        if (entry.type != dtype::f32 || entry.name.empty())
            in.refuse("expected tensors of F32 with names, found '" + entry.name + "' of " +
                      std::string(name_of(entry.type)));
        const bool is_buffer = of_parameters == 0;
        of_parameters -= !is_buffer;
        detail::add_tensor(is_buffer ? found.kind.buffers : found.kind.parameters, path, entry.name,
                           entry.shape);
    }
    const auto take = [&](const layout& tensors, std::vector<float>& values) {
        values.resize(static_cast<std::size_t>(tensors.size()));
        in.read(std::as_writable_bytes(std::span(values)));
    };
    take(found.kind.parameters, found.parameters);
    take(found.kind.buffers, found.buffers);
    const std::string is = hex(digest_of_model(found.kind, found.parameters, found.buffers));
    if (said("digest") != is)
        in.refuse("expected digest " + std::string(said("digest")) + ", found " + is);
    return found;
}

}  // namespace sotto::checkpoint
