#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>

namespace sotto::detail::collectives {

/// The values begin..end-1 of an operation.
struct range {
    std::int64_t begin = 0;  // first value
    std::int64_t end = 0;    // one past the last value

    /// Number of values.
    constexpr std::int64_t size() const noexcept { return end - begin; }
    /// True if there are none.
    constexpr bool empty() const noexcept { return begin == end; }
    /// True if some value is in both ranges.
    constexpr bool overlaps(range other) const noexcept {
        return (std::max)(begin, other.begin) < (std::min)(end, other.end);
    }
    friend constexpr bool operator==(const range&, const range&) = default;
};

/// Part `index` of n values in `parts` parts. Sizes differ by at most one, longer parts first.
constexpr range part_of(std::int64_t n, std::int64_t parts, std::int64_t index) noexcept {
    const std::int64_t size = n / parts, longer = n % parts;
    const auto start = [&](std::int64_t i) { return i * size + (std::min)(i, longer); };
    return {start(index), start(index + 1)};
}

/// What a rank does with values that arrive. After `add_last` the sum is complete on this rank and
/// is rounded to the wire format. So its owner continues with the same bits that it sends.
///   replace   replaces the existing values
///   add       adds to the existing values
///   add_last  as add, and the sum is complete
enum class arrival : std::uint8_t { replace, add, add_last };

/// No rank: nothing is sent or nothing is received.
inline constexpr int nobody = -1;

/// One step of a rank: values to send and values to receive. The two ranges do not overlap, unless
/// the received values are added; then the old values are sent.
struct step {
    int to = nobody;                 // a rank, or nobody
    range out;                       // values to send
    int from = nobody;               // a rank, or nobody
    range in;                        // values to receive
    arrival how = arrival::replace;  // what to do with received values
};

/// Schedule of sends and receives: a pure function of the rank, the number of ranks and the number
/// of values. A rank's sends to another rank, in the order of its steps, are that rank's receives
/// from it, in the same order.
///   begin(n)   fixes the number of values
///   steps()    returns the number of steps of this rank
///   at(k)      returns step k. Its values to send depend on what arrived in earlier steps
///   adds       true if any values are added
template <class P>
concept plan = std::copyable<P> && requires(P& p, const P& fixed, std::int64_t n, int k) {
    p.begin(n);
    { fixed.steps() } -> std::same_as<int>;
    { fixed.at(k) } -> std::same_as<step>;
    { P::adds } -> std::convertible_to<bool>;
};

}  // namespace sotto::detail::collectives
