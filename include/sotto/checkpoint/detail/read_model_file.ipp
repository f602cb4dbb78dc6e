#pragma once

#include "sotto/checkpoint/detail/read_model_file.hpp"

#include <algorithm>
#include <functional>
#include <string_view>

#include "sotto/checkpoint/detail/digest.hpp"
#include "sotto/checkpoint/detail/file_reader.hpp"
#include "sotto/checkpoint/detail/parse_header.hpp"
#include "sotto/checkpoint/detail/sections.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/kernels/detail/quantise/half.hpp"

namespace sotto::detail::checkpoint {

SOTTO_DECL void add_tensor(layout& names, const std::filesystem::path& file, std::string name,
                           const std::vector<std::int64_t>& shape) {
    try {
        names.add(std::move(name), shape);
    } catch (const invalid_option& e) {
        throw error(errc::malformed,
                    "'" + file.string() + "' is no whole file of a model: " + e.what());
    }
}

SOTTO_DECL model_values read_sections(const std::filesystem::path& path) {
    posix_files files;
    file_reader file(files, path);
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

SOTTO_DECL model_input::model_input(const std::filesystem::path& path)
    : name_("'" + path.string() + "'") {
    std::error_code why;
    file_ = files_.open(path, why);
    require_done(why);
    size_ = files_.size(file_, why);
    if (why) close();
    require_done(why);
}

SOTTO_DECL void model_input::read(mutable_byte_view into) {
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

SOTTO_DECL void model_input::refuse(const std::string& why) const {
    throw error(errc::malformed, name_ + " is no whole file of a model: " + why);
}

SOTTO_DECL void model_input::require_done(std::error_code why) const {
    if (why) throw io_failure("cannot read " + name_ + ": " + why.message());
}

SOTTO_DECL void model_input::close() noexcept {
    std::error_code ignored;
    files_.close(file_, ignored);
}

SOTTO_DECL bool is_of_values(dtype type) noexcept {
    return type == dtype::f32 || type == dtype::f16 || type == dtype::bf16 || type == dtype::f64;
}

SOTTO_DECL bool round_to_float(double value, float& rounded) noexcept {
    constexpr auto of_double = std::uint64_t{0x7FF} << 52;
    constexpr auto of_float = std::uint32_t{0xFF} << 23;
    rounded = static_cast<float>(value);
    const bool was_finite = (std::bit_cast<std::uint64_t>(value) & of_double) != of_double;
    return !was_finite || (std::bit_cast<std::uint32_t>(rounded) & of_float) != of_float;
}

SOTTO_DECL std::ptrdiff_t convert_values(dtype type, byte_view from, std::span<float> to) {
    if (type == dtype::f16)
        return convert_values<std::uint16_t>(from, to, [](std::uint16_t stored, float& value) {
            return value = kernels::from_fp16(stored), true;
        });
    if (type == dtype::bf16)
        return convert_values<std::uint16_t>(from, to, [](std::uint16_t stored, float& value) {
            return value = kernels::from_bf16(stored), true;
        });
    return convert_values<double>(from, to, round_to_float);
}

SOTTO_DECL model_values read_tensors(model_input& in, const std::filesystem::path& path,
                                     const file_header& header) {
    model_values found{.by_name = true};
    layout& names = found.kind.parameters;
    for (const tensor_entry& entry : header.tensors)
        if (is_of_values(entry.type))
            add_tensor(names, path, entry.name, entry.shape);
        else
            found.other_types.emplace_back(entry.name, entry.type);
    if (names.tensors().empty())
        throw mismatch("'" + path.string() +
                       "' is no file of a model: none of its tensors is of F32, F16, BF16 or F64");
    found.parameters.resize(static_cast<std::size_t>(names.size()));
    constexpr std::size_t piece_bytes = std::size_t{1} << 20;
    bytes piece;
    std::span<float> rest(found.parameters);
    for (const tensor_entry& entry : header.tensors) {
        if (!is_of_values(entry.type)) {
            in.skip(entry.size_bytes());
            continue;
        }
        const auto each = static_cast<std::size_t>(bytes_of_element(entry.type));
        const std::size_t size = static_cast<std::size_t>(entry.size_bytes()) / each;
        std::span<float> values = rest.first(size);
        rest = rest.subspan(size);
        if (entry.type == dtype::f32) {
            in.read(std::as_writable_bytes(values));
            continue;
        }
        for (std::size_t done = 0; done < size;) {
            const auto part = values.subspan(done, (std::min)(size - done, piece_bytes / each));
            piece.resize(part.size() * each);
            in.read(piece);
            if (const auto at = convert_values(entry.type, piece, part); at >= 0)
                throw error(errc::malformed,
                            "'" + path.string() + "': tensor '" + entry.name + "' of " +
                                std::string(name_of(entry.type)) + ", element " +
                                std::to_string(done + static_cast<std::size_t>(at)) +
                                ", is beyond the largest float, 3.4e38");
            done += part.size();
        }
    }
    return found;
}

SOTTO_DECL bool is_ours(const file_header& header) noexcept {
    return std::ranges::any_of(header.metadata, [](const auto& entry) {
        return entry.first == "format.version" || entry.first.starts_with("sotto.") ||
               (entry.first == "format" && entry.second.starts_with("sotto."));
    });
}

SOTTO_DECL model_values read_model_file(const std::filesystem::path& path) {
    model_input in(path);
    bytes start(file_header::length_bytes);
    in.read(start);
    const result<std::int64_t> length_read = parse_header_length(start);
    if (!length_read)
        throw error(errc::malformed,
                    "'" + path.string() + "' is no safetensors file: " + length_read.why().text());
    const std::int64_t length = *length_read;
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
        return read_sections(path);
    }
    const bool ours = is_ours(header);
    if (ours) {
        require("format", "sotto.model_file");
        require("format.version", "1");
    }
    if (in.size() != header.file_bytes())
        in.refuse("expected " + std::to_string(header.file_bytes()) + " bytes, found " +
                  std::to_string(in.size()));
    if (!ours) return read_tensors(in, path, header);
    std::size_t buffers = 0;
    if (!header.read_number("buffers", buffers) || buffers > header.tensors.size())
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
        add_tensor(is_buffer ? found.kind.buffers : found.kind.parameters, path, entry.name,
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

}  // namespace sotto::detail::checkpoint
