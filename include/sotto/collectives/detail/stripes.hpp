#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace sotto::detail::collectives {

/// Divides the elements of a tensor among ranks in narrow stripes. Every rank then owns about as
/// many of the sent entries, at any positions. Ranks need not exchange the positions of their
/// entries, and nothing is learnt from earlier rounds.
///
/// Ranges of n / N elements would not work: a tensor's large entries cluster in a few rows, and
/// their owner would add up nearly everything. In each group of N stripes every rank has one, so a
/// cluster of entries is divided evenly. The order differs from group to group, so entries at
/// regular distances, such as a column of a matrix, are divided evenly as well.
///   math    stripes of w elements, N of them a group. Stripe j of group g belongs to rank (j +
///           turn(g)) mod N, turn(g) = floor(c g / 2^32) mod 2^32 mod N with c = 2^64 / golden
///           ratio. A rank has one stripe in each group. So the places of its elements, counted
///           among its own, are g w + the element's offset in its stripe. They rise with the
///           elements
///   shape   n <= 2^32. w = 64 (256 bytes), less if there would be fewer than 64 groups
class stripes {
public:
    /// Divides n elements among this many ranks.
    constexpr stripes(std::int64_t n, int ranks) noexcept
        : n_(static_cast<std::uint64_t>(n)), ranks_(static_cast<std::uint32_t>(ranks)) {
        const std::uint64_t widest = n_ / (groups_min * ranks_);
        shift_ = std::countr_zero(std::bit_floor(std::clamp<std::uint64_t>(widest, 1, width_max)));
        group_size_ = std::uint64_t{ranks_} << shift_;
        groups_ = n_ / group_size_ + (n_ % group_size_ != 0);
    }

    /// Number of places of a rank, the same for all ranks. Places of the last stripe may lie beyond
    /// the tensor.
    constexpr std::int64_t places() const noexcept {
        return static_cast<std::int64_t>(groups_ << shift_);
    }

    /// Element at a place of a rank, 0 <= place < places(); n or more for a place beyond the
    /// tensor. If the element of a place is below n, so are those of the rank's earlier places.
    constexpr std::uint64_t element(int rank, std::uint32_t place) const noexcept {
        const std::uint64_t group = place >> shift_;
        const std::uint32_t from = turn(group), owner = static_cast<std::uint32_t>(rank);
        const std::uint64_t stripe = owner >= from ? owner - from : owner + ranks_ - from;
        return group * group_size_ + (stripe << shift_) + (place & mask());
    }

    /// Calls visit(k, rank, place) for the k-th of these elements, with its owner and its place
    /// there. The elements must ascend and be below n.
    template <class Visit>
    constexpr void for_each(std::span<const std::uint32_t> elements, Visit&& visit) const {
        std::uint64_t begin = 0, end = 0, first_place = 0;  // of the current group
        std::uint32_t from = 0;
        for (std::size_t k = 0; k < elements.size(); ++k) {
            const std::uint64_t i = elements[k];
            if (i >= end) {
                const std::uint64_t group = i / group_size_;
                begin = group * group_size_;
                end = begin + group_size_;
                first_place = group << shift_;
                from = turn(group);
            }
            const std::uint64_t inside = i - begin;
            std::uint64_t rank = (inside >> shift_) + from;
            if (rank >= ranks_) rank -= ranks_;
            visit(k, static_cast<int>(rank),
                  static_cast<std::uint32_t>(first_place + (inside & mask())));
        }
    }

private:
    static constexpr std::uint64_t width_max = 64, groups_min = 64;

    constexpr std::uint64_t mask() const noexcept { return (std::uint64_t{1} << shift_) - 1; }

    constexpr std::uint32_t turn(std::uint64_t group) const noexcept {
        return static_cast<std::uint32_t>(group * 0x9E3779B97F4A7C15u >> 32) % ranks_;
    }

    std::uint64_t n_;
    std::uint32_t ranks_;
    int shift_ = 0;  // w = 2^shift
    std::uint64_t group_size_ = 1;
    std::uint64_t groups_ = 0;
};

}  // namespace sotto::detail::collectives
