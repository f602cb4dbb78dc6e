#pragma once

#include <zlib.h>

#include <cstddef>
#include <cstdint>

#include "sotto/core/bytes.hpp"
#include "sotto/core/result.hpp"

namespace sotto::detail::data {

/// True if a file begins with the gzip magic bytes.
bool is_gzip(byte_view file) noexcept;

/// Unpacks a gzip file into the caller's memory, at most as many bytes as requested.
///   errors  faults at offsets of the packed file; std::bad_alloc if zlib cannot allocate
class gunzip {
public:
    /// Starts to unpack `file`, which must outlive this.
    explicit gunzip(byte_view file);
    /// Frees zlib's memory.
    ~gunzip() { inflateEnd(&stream_); }
    gunzip(const gunzip&) = delete;
    gunzip& operator=(const gunzip&) = delete;

    /// Fills `to` with the next bytes and returns their number, which is smaller only at the end of
    /// the packed data.
    result<std::int64_t> read(mutable_byte_view to);

    /// Checks that the data ends here, with a correct checksum and no bytes after it. May unpack
    /// one more byte for this.
    result<bool> finish();

private:
    std::int64_t at() const noexcept { return static_cast<std::int64_t>(used_); }

    byte_view file_;
    std::size_t used_ = 0;
    bool ended_ = false;
    z_stream stream_{};
};

}  // namespace sotto::detail::data

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/data/detail/gunzip.ipp"
#endif
