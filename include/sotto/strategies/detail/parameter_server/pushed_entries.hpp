#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sotto/compressors/compressor.hpp"
#include "sotto/core/bytes.hpp"
#include "sotto/core/layout.hpp"

namespace sotto::detail {

/// The entries of a push, of one tensor after another: all of it is read before anything of it is
/// applied.
///   cost    8 bytes for each entry that a push may have
///   errors  malformed; non_finite, with the rank whose gradient it is
class pushed_entries {
public:
    /// Memory for pushes of at most so many entries, of so many tensors.
    void reserve(std::size_t entries, std::size_t tensors);

    /// Before the first tensor of a push.
    void begin() noexcept;

    /// The next tensor's.
    template <class Decoder>
    void read(Decoder& decoder, const tensor& t, byte_view message, int rank) {
        const auto room =
            (std::min)(most(decoder, t), indices_.size() - size_);  // none of another tensor's
        take(t, rank,
             compressing::decode_into(decoder, t, message, std::span(indices_).subspan(size_, room),
                                      std::span(values_).subspan(size_, room)));
    }
    /// The next two's: what `read` of both does, with the same errors, in 0.6 of the time.
    template <class Decoder>
    void read_pair(Decoder& decoder, const tensor& first, byte_view first_message,
                   const tensor& second, byte_view second_message, int rank) {
        if (const auto both = compressing::decode_pair_into(
                decoder, first, first_message, second, second_message,
                std::span(indices_).subspan(size_), std::span(values_).subspan(size_));
            both && (*both)[0].indices.size() <= most(decoder, first) &&
            (*both)[1].indices.size() <= most(decoder, second)) {
            take(first, rank, (*both)[0]);
            take(second, rank, (*both)[1]);
        } else {
            read(decoder, first, first_message, rank);
            read(decoder, second, second_message, rank);
        }
    }
    /// The next tensor has none: its gradient comes whole.
    void skip() { ends_.push_back(size_); }

    /// Entries that were read.
    std::size_t size() const noexcept { return size_; }

    /// Of the k-th tensor.
    std::span<const std::uint32_t> indices(std::size_t k) const noexcept;
    /// The values of tensor k's entries, to be changed.
    std::span<float> values(std::size_t k) noexcept;

private:
    template <class Decoder>
    static std::size_t most(const Decoder& decoder, const tensor& t) {
        return static_cast<std::size_t>(decoder.entries_max(t));
    }

    void take(const tensor& t, int rank, const sparse_view& read);

    std::size_t begin_of(std::size_t k) const noexcept { return k == 0 ? 0 : ends_[k - 1]; }

    std::vector<std::uint32_t> indices_;
    std::vector<float> values_;
    std::vector<std::size_t> ends_;  // of each tensor's
    std::size_t size_ = 0;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/detail/parameter_server/pushed_entries.ipp"
#endif
