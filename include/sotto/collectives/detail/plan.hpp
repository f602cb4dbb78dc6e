#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>

namespace sotto::detail::collectives {

/// The values begin..end-1 of an operation.
struct range {
    std::int64_t begin = 0;  // the first
    std::int64_t end = 0;    // one past the last

    /// How many values these are.
    constexpr std::int64_t size() const noexcept { return end - begin; }
    /// Whether these are none.
    constexpr bool empty() const noexcept { return begin == end; }
    /// Whether some value is in both.
    constexpr bool overlaps(range other) const noexcept {
        return (std::max)(begin, other.begin) < (std::min)(end, other.end);
    }
    friend constexpr bool operator==(const range&, const range&) = default;
};

/// Part `index` of n values in `parts` parts: sizes differ by at most one, longer ones first.
constexpr range part_of(std::int64_t n, std::int64_t parts, std::int64_t index) noexcept {
    const std::int64_t size = n / parts, longer = n % parts;
    const auto start = [&](std::int64_t i) { return i * size + (std::min)(i, longer); };
    return {start(index), start(index + 1)};
}

/// What is done with values that arrive. After `add_last` the sum is complete here, and is rounded
/// to what the wire can carry: so its owner goes on with the same bits as those it sends it to.
///   replace   they take the place of what was there
///   add       they are added to what was there
///   add_last  as add, and the sum is complete
enum class arrival : std::uint8_t { replace, add, add_last };

/// In place of a rank where nothing goes or comes.
inline constexpr int nobody = -1;

/// One step of a rank: values that go out and values that come in. They do not overlap, unless what
/// comes in is added: then they go out as they were before.
struct step {
    int to = nobody;                 // a rank, or nobody
    range out;                       // values that go out
    int from = nobody;               // a rank, or nobody
    range in;                        // values that come in
    arrival how = arrival::replace;  // what is done with these
};

/// Who sends what to whom: a pure function of the rank, the number of ranks and the number of
/// values. A rank's sends to another one, in the order of its steps, are the other's receives from
/// it, in the order of its own.
///   begin(n)   fixes the number of values
///   steps()    how many steps this rank has
///   at(k)      step k. Its values to send depend on what arrived in the steps before it
///   adds       whether any values are added
template <class P>
concept plan = std::copyable<P> && requires(P& p, const P& fixed, std::int64_t n, int k) {
    p.begin(n);
    { fixed.steps() } -> std::same_as<int>;
    { fixed.at(k) } -> std::same_as<step>;
    { P::adds } -> std::convertible_to<bool>;
};

}  // namespace sotto::detail::collectives
