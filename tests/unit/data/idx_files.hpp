#pragma once

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "sotto/core/bytes.hpp"

namespace idx_test {

/// An IDX file of unsigned bytes 0, 1, 2, ...: as many as `values` says, which may break the
/// header's promise.
inline sotto::bytes idx_file(std::initializer_list<std::uint32_t> extents, std::size_t values) {
    sotto::bytes file{std::byte{0}, std::byte{0}, std::byte{8},
                      static_cast<std::byte>(extents.size())};
    for (const std::uint32_t extent : extents)
        for (const int shift : {24, 16, 8, 0})
            file.push_back(static_cast<std::byte>(extent >> shift & 255u));
    for (std::size_t i = 0; i < values; ++i) file.push_back(static_cast<std::byte>(i & 255u));
    return file;
}

inline sotto::bytes gzip(sotto::byte_view plain) {
    z_stream stream{};
    deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
    sotto::bytes packed(deflateBound(&stream, static_cast<uLong>(plain.size())));
    stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(plain.data()));
    stream.avail_in = static_cast<uInt>(plain.size());
    stream.next_out = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_out = static_cast<uInt>(packed.size());
    deflate(&stream, Z_FINISH);
    packed.resize(stream.total_out);
    deflateEnd(&stream);
    return packed;
}

}  // namespace idx_test
