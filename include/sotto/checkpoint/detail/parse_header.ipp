#pragma once

#include "sotto/checkpoint/detail/parse_header.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "sotto/core/config.hpp"
#include "sotto/wire/detail/coding/little_endian.hpp"

namespace sotto::detail::checkpoint {

SOTTO_DECL std::optional<fault> parse_shape(json_cursor& in, std::vector<std::int64_t>& shape) {
    if (!in.take('[')) return in.unexpected("'[' before a shape");
    if (in.take(']')) return std::nullopt;
    do {
        if (std::ssize(shape) == file_header::rank_max)
            return in.unexpected("a shape of at most 16 extents");
        const auto extent = in.count("an extent: a whole number");
        if (!extent) return extent.why();
        shape.push_back(*extent);
    } while (in.take(','));
    if (!in.take(']')) return in.unexpected("',' or ']' in a shape");
    return std::nullopt;
}

SOTTO_DECL std::optional<fault> parse_offsets(json_cursor& in, tensor_entry& entry) {
    if (!in.take('[')) return in.unexpected("'[' before data_offsets");
    const auto begin = in.count("the offset where the data begin");
    if (!begin) return begin.why();
    if (!in.take(',')) return in.unexpected("',' between two data_offsets");
    const auto end = in.count("the offset where the data end");
    if (!end) return end.why();
    if (!in.take(']')) return in.unexpected("']' after two data_offsets");
    entry.begin = *begin;
    entry.end = *end;
    return std::nullopt;
}

SOTTO_DECL std::optional<fault> parse_entry(json_cursor& in, tensor_entry& entry) {
    if (!in.take('{')) return in.unexpected("'{' before a tensor's dtype, shape and data_offsets");
    bool type = false, shape = false, offsets = false;
    do {
        const std::int64_t at = in.offset();
        const auto key = in.string("\"dtype\", \"shape\" or \"data_offsets\"");
        if (!key) return key.why();
        if (!in.take(':')) return in.unexpected("':' after a key");
        if (*key == "dtype" && !std::exchange(type, true)) {
            const std::int64_t where = in.offset();
            const auto name = in.string("a dtype: a string");
            if (!name) return name.why();
            const auto known = dtype_named(*name);
            if (!known)
                return fault{where, "a known dtype", static_cast<std::int64_t>(name->size())};
            entry.type = *known;
        } else if (*key == "shape" && !std::exchange(shape, true)) {
            if (const auto why = parse_shape(in, entry.shape)) return why;
        } else if (*key == "data_offsets" && !std::exchange(offsets, true)) {
            if (const auto why = parse_offsets(in, entry)) return why;
        } else {
            return fault{at, "each of dtype, shape and data_offsets once: a key of length",
                         static_cast<std::int64_t>(key->size())};
        }
    } while (in.take(','));
    if (!in.take('}')) return in.unexpected("',' or '}' in a tensor's description");
    if (!type || !shape || !offsets)
        return in.unexpected("dtype, shape and data_offsets before the end of a tensor");
    return std::nullopt;
}

SOTTO_DECL std::optional<fault> parse_metadata(json_cursor& in, file_header& header) {
    if (!in.take('{')) return in.unexpected("'{' before the metadata");
    if (in.take('}')) return std::nullopt;
    do {
        if (std::ssize(header.metadata) == file_header::metadata_max)
            return in.unexpected("metadata of at most 4096 names");
        auto key = in.string("a name in the metadata");
        if (!key) return key.why();
        if (!in.take(':')) return in.unexpected("':' after a name in the metadata");
        auto value = in.string("a string in the metadata");
        if (!value) return value.why();
        header.metadata.emplace_back(std::move(*key), std::move(*value));
    } while (in.take(','));
    if (!in.take('}')) return in.unexpected("',' or '}' in the metadata");
    return std::nullopt;
}

SOTTO_DECL std::optional<fault> check_size(const tensor_entry& entry) {
    if (entry.begin > entry.end)
        return fault{entry.at, "data_offsets that do not decrease", entry.end};
    std::int64_t bytes = bytes_of_element(entry.type);
    for (const std::int64_t extent : entry.shape)
        if (extent == 0) bytes = 0;
    for (const std::int64_t extent : entry.shape) {
        if (bytes > 0 && extent > (std::numeric_limits<std::int64_t>::max)() / bytes)
            return fault{entry.at, "a shape of fewer than 2^63 bytes", extent};
        bytes *= extent;
    }
    if (bytes != entry.end - entry.begin)
        return fault{entry.at, "data_offsets as far apart as the shape needs",
                     entry.end - entry.begin};
    return std::nullopt;
}

SOTTO_DECL std::optional<fault> check_places(file_header& header) {
    std::sort(header.tensors.begin(), header.tensors.end(),
              [](const tensor_entry& a, const tensor_entry& b) {
                  return std::tuple(a.begin, a.end, a.at) < std::tuple(b.begin, b.end, b.at);
              });
    std::int64_t end = 0;
    for (const tensor_entry& entry : header.tensors) {
        if (entry.begin != end)
            return fault{entry.at, "data that begin where the ones before end", entry.begin};
        end = entry.end;
    }
    if (end > (std::numeric_limits<std::int64_t>::max)() - header.data_begin)
        return fault{header.tensors.back().at, "a file of fewer than 2^63 bytes", end};
    return std::nullopt;
}

SOTTO_DECL std::optional<fault> check_names(const file_header& header) {
    if (const auto twice = entry_index(header).duplicate())
        return fault{header.tensors[*twice].at, "each tensor's name once", 2};
    std::vector<std::string_view> names;
    for (const auto& entry : header.metadata) names.push_back(entry.first);
    std::sort(names.begin(), names.end());
    if (std::adjacent_find(names.begin(), names.end()) != names.end())
        return fault{file_header::length_bytes, "each name in the metadata once", 2};
    return std::nullopt;
}

SOTTO_DECL result<std::int64_t> parse_header_length(byte_view start) {
    const auto found = static_cast<std::int64_t>(start.size());
    if (found < file_header::length_bytes)
        return fault{found, "8 bytes that say how long the header is", found};
    const auto length = wire::load_little_endian<std::uint64_t>(start.data());
    if (length > std::uint64_t{file_header::json_bytes_max})
        return fault{0, "a header of at most 2^24 bytes",
                     static_cast<std::int64_t>(
                         (std::min)(length, std::uint64_t{1} << 62))};  // as the message shows it
    return static_cast<std::int64_t>(length);
}

SOTTO_DECL result<file_header> parse_header(byte_view start) {
    const auto length = parse_header_length(start);
    if (!length) return length.why();
    file_header header;
    header.data_begin = file_header::length_bytes + *length;
    const auto found = static_cast<std::int64_t>(start.size());
    if (found < header.data_begin)
        return fault{found, "bytes, up to the end of the header", found, header.data_begin};

    const std::string_view text(reinterpret_cast<const char*>(start.data()),
                                static_cast<std::size_t>(header.data_begin));
    json_cursor in(text.substr(file_header::length_bytes), file_header::length_bytes);
    if (text.substr(file_header::length_bytes, 1) != "{")
        return in.unexpected("'{' as the first byte of the header");
    (void)in.take('{');
    bool metadata = false;
    if (!in.take('}')) {
        do {
            tensor_entry entry;
            entry.at = in.offset();
            auto name = in.string("a tensor's name");
            if (!name) return name.why();
            if (!in.take(':')) return in.unexpected("':' after a tensor's name");
            if (*name == "__metadata__") {
                if (std::exchange(metadata, true)) return fault{entry.at, "__metadata__ once", 2};
                if (const auto why = parse_metadata(in, header)) return *why;
                continue;
            }
            entry.name = std::move(*name);
            if (const auto why = parse_entry(in, entry)) return *why;
            if (const auto why = check_size(entry)) return *why;
            header.tensors.push_back(std::move(entry));
        } while (in.take(','));
        if (!in.take('}')) return in.unexpected("',' or '}' after a tensor");
    }
    if (!in.at_end()) return in.unexpected("nothing but blanks after the header's '}'");
    if (const auto why = check_places(header)) return *why;
    if (const auto why = check_names(header)) return *why;
    return header;
}

}  // namespace sotto::detail::checkpoint
