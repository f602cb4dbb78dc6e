#pragma once

#include <bit>
#include <cstdint>

#include "sotto/collectives/detail/plan.hpp"
#include "sotto/collectives/detail/planned.hpp"
#include "sotto/collectives/detail/recursive_doubling.hpp"
#include "sotto/collectives/halving_doubling.hpp"
#include "sotto/collectives/ring.hpp"
#include "sotto/collectives/tree.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"
#include "sotto/wire/value_format.hpp"

namespace sotto::detail::collectives {

/// Algorithm that sums floats over all ranks. It determines the order of the additions.
///   automatic           choose_all_reduce picks one for each number of values
///   ring                see ring_plan
///   tree                see tree_plan
///   halving_doubling    see halving_doubling_plan
///   recursive_doubling  see recursive_doubling_plan
enum class algorithm : std::uint8_t { automatic, ring, tree, halving_doubling, recursive_doubling };

}  // namespace sotto::detail::collectives

/// Collective operations of all ranks: sums, over any transport.
namespace sotto::collectives {

/// Returns the algorithm for a sum of this many bytes. The choice is a table, not a measurement, so
/// a run repeats bit for bit on any network.
///
///   up to 32 KiB  in fp32 (128 KiB if N = 2): recursive_doubling. It has the fewest steps, log2 N.
///                 Two ranks send no more bytes with it than with any other algorithm
///   up to 1 KiB   otherwise: tree. The time depends on the number of messages; the tree has the
///                 fewest, 2(N-1) in all
///   up to 1 MiB   if N = 4, 8, 16, ...: halving_doubling. It sends as few bytes as the ring, in 2
///                 log2 N steps instead of 2(N-1)
///   up to a limit
///                 if N is another number above 3: halving_doubling. Ranks beyond the power of two
///                 cost two more bytes for each byte. The limit is where this takes longer than the
///                 saved steps. A step counts as 32 KiB, which take 0.25 ms at 1 Gbit/s
///   else          ring. Only neighbours communicate, and segments follow each other without gaps.
///                 100 MB over four ranks at 1 Gbit/s took 1.26 s with the ring, 1.30 s with
///                 halving_doubling
constexpr detail::collectives::algorithm choose_all_reduce(
    std::int64_t bytes, int world, wire::value_format format = wire::value_format::fp32) noexcept {
    const bool whole = std::has_single_bit(static_cast<unsigned>(world));
    if (format == wire::value_format::fp32 && bytes <= (world == 2 ? 131072 : 32768))
        return detail::collectives::algorithm::recursive_doubling;
    if (bytes <= 1024) return detail::collectives::algorithm::tree;
    if (world <= 3) return detail::collectives::algorithm::ring;  // no steps to save
    const int levels = std::countr_zero(std::bit_floor(static_cast<unsigned>(world)));
    const int pairs_of_steps_saved = world - 1 - levels - (whole ? 0 : 1);
    const std::int64_t limit =
        whole ? std::int64_t{1} << 20 : std::int64_t{pairs_of_steps_saved} * 32768;
    return bytes <= limit ? detail::collectives::algorithm::halving_doubling
                          : detail::collectives::algorithm::ring;
}

}  // namespace sotto::collectives

namespace sotto::detail::collectives {

/// One of the plans, fixed by the caller or chosen for each number of values.
class all_reduce_plan {
public:
    static constexpr bool adds = true;

    /// Plan of one rank in a world of this size, for values in this format.
    constexpr all_reduce_plan(int rank, int world, algorithm which,
                              wire::value_format format) noexcept
        : world_(world),
          asked_(which),
          format_(format),
          ring_(rank, world),
          tree_(rank, world),
          halving_doubling_(rank, world),
          recursive_doubling_(rank, world) {}

    constexpr void begin(std::int64_t n) noexcept {
        chosen_ = asked_ == algorithm::automatic
                      ? sotto::collectives::choose_all_reduce(
                            n * sotto::wire::bytes_per_value(format_), world_, format_)
                      : asked_;
        if (chosen_ == algorithm::recursive_doubling && format_ != wire::value_format::fp32)
            chosen_ = algorithm::halving_doubling;
        ring_.begin(n);
        tree_.begin(n);
        halving_doubling_.begin(n);
        recursive_doubling_.begin(n);
    }

    constexpr int steps() const noexcept {
        switch (chosen_) {
            case algorithm::tree: return tree_.steps();
            case algorithm::halving_doubling: return halving_doubling_.steps();
            case algorithm::recursive_doubling: return recursive_doubling_.steps();
            default: return ring_.steps();
        }
    }

    constexpr step at(int k) const noexcept {
        switch (chosen_) {
            case algorithm::tree: return tree_.at(k);
            case algorithm::halving_doubling: return halving_doubling_.at(k);
            case algorithm::recursive_doubling: return recursive_doubling_.at(k);
            default: return ring_.at(k);
        }
    }

private:
    int world_;
    algorithm asked_;
    wire::value_format format_;
    algorithm chosen_ = algorithm::ring;
    ring_plan ring_;
    tree_plan tree_;
    halving_doubling_plan halving_doubling_;
    recursive_doubling_plan recursive_doubling_;
};

/// Sums floats over all ranks, in place. Every rank gets the same bits.
///   math    x = sum over the ranks, in the order of the algorithm. With fp16 and bf16, sent values
///           (partial sums too) and the result are rounded; the additions are in fp32
///   cost    see the plans; nothing with one rank or no values
class all_reduce : public detail::collectives::planned<detail::collectives::all_reduce_plan> {
public:
    /// For at most `size_max` values. All ranks pass the same size, algorithm and format.
    explicit all_reduce(
        transport_ref through, std::int64_t size_max,
        detail::collectives::algorithm which = detail::collectives::algorithm::automatic,
        wire::value_format format = wire::value_format::fp32);
};

}  // namespace sotto::detail::collectives

namespace sotto::collectives {

/// Sums with the algorithm that choose_all_reduce returns.
struct automatic {
    static constexpr bool sums = true;

    auto bind(transport_ref through, std::int64_t size_max,
              wire::value_format format = wire::value_format::fp32) const {
        return detail::collectives::all_reduce(through, size_max,
                                               detail::collectives::algorithm::automatic, format);
    }
};

/// Sums by recursive doubling, which has the fewest steps. For up to some ten kilobytes. With two
/// bytes a value it runs halving_doubling, because partners would round differently: see
/// recursive_doubling_plan.
struct recursive_doubling {
    static constexpr bool sums = true;

    auto bind(transport_ref through, std::int64_t size_max,
              wire::value_format format = wire::value_format::fp32) const {
        return detail::collectives::all_reduce(
            through, size_max, detail::collectives::algorithm::recursive_doubling, format);
    }
};

}  // namespace sotto::collectives

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/collectives/all_reduce.ipp"
#endif
