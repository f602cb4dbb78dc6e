#pragma once

#include "sotto/data/detail/gunzip.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <new>

#include "sotto/core/config.hpp"

namespace sotto::detail::data {

SOTTO_DECL bool is_gzip(byte_view file) noexcept {
    return file.size() >= 2 && file[0] == std::byte{0x1f} && file[1] == std::byte{0x8b};
}

SOTTO_DECL gunzip::gunzip(byte_view file) : file_(file) {
    // 15 is the largest window; 16 more accepts only the gzip format.
    if (inflateInit2(&stream_, 15 + 16) != Z_OK) throw std::bad_alloc();
}

SOTTO_DECL result<std::int64_t> gunzip::read(mutable_byte_view to) {
    constexpr std::size_t most = (std::numeric_limits<uInt>::max)();  // zlib counts in 32 bits
    std::size_t done = 0;
    while (done < to.size() && !ended_) {
        const std::size_t give = (std::min)(file_.size() - used_, most);
        const std::size_t want = (std::min)(to.size() - done, most);
        // zlib reads through a pointer to non-const but does not write to it.
        stream_.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(file_.data() + used_));
        stream_.avail_in = static_cast<uInt>(give);
        stream_.next_out = reinterpret_cast<Bytef*>(to.data() + done);
        stream_.avail_out = static_cast<uInt>(want);
        const int state = inflate(&stream_, Z_NO_FLUSH);
        const std::size_t unpacked = want - stream_.avail_out;
        used_ += give - stream_.avail_in;
        done += unpacked;
        if (state == Z_MEM_ERROR) throw std::bad_alloc();
        if (state == Z_STREAM_END)
            ended_ = true;
        else if (state == Z_BUF_ERROR ||
                 (state == Z_OK && used_ == file_.size() && unpacked < want))
            return fault{at(), "more bytes of packed data", 0};
        else if (state != Z_OK)
            return fault{at(), "valid gzip data", state};
    }
    return static_cast<std::int64_t>(done);
}

SOTTO_DECL result<bool> gunzip::finish() {
    std::byte extra{};
    const auto more = read({&extra, 1});
    if (!more) return more.why();
    if (*more != 0) return fault{at(), "the end of the packed data", 1};
    if (used_ != file_.size())
        return fault{at(), "the end of the file", std::to_integer<int>(file_[used_])};
    return true;
}

}  // namespace sotto::detail::data
