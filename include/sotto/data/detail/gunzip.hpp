#pragma once

#include <zlib.h>

#include <cstddef>
#include <cstdint>

#include "sotto/core/bytes.hpp"
#include "sotto/core/result.hpp"

namespace sotto::detail::data {

/// Whether a file begins as gzip files do.
bool is_gzip(byte_view file) noexcept;

/// Unpacks a gzip file into memory of the caller's, never more than is asked for.
///   errors  faults as offsets into the packed file; std::bad_alloc if zlib gets no memory
class gunzip {
public:
    /// Begins with a file, whose bytes stay the caller's.
    explicit gunzip(byte_view file);
    /// Gives zlib's memory back.
    ~gunzip() { inflateEnd(&stream_); }
    gunzip(const gunzip&) = delete;
    gunzip& operator=(const gunzip&) = delete;

    /// Fills `to` with the next bytes; returns how many there were: fewer only at the end of the
    /// packed data.
    result<std::int64_t> read(mutable_byte_view to);

    /// Nothing left to unpack, checksum right and nothing behind it. May unpack one byte more to
    /// find out.
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
