#pragma once

#include <cstdint>

#include "sotto/collectives/all_reduce.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"
#include "sotto/wire/value_format.hpp"

namespace sotto::collectives {

/// Returns the algorithm that sums `size` floats fastest on this transport. Blocks while all ranks
/// try each algorithm. Every rank must call it with the same arguments, while nothing else uses the
/// transport.
///   math    an algorithm's time on a rank is its fastest round; its total time is that of the
///           slowest rank, because a sum ends when the slowest rank has it. The least time wins. If
///           times are equal, the first of ring, tree, halving_doubling and recursive_doubling
///           wins. With two bytes a value recursive_doubling is left out, because it would run
///           halving_doubling again. Every rank decides on the same times
///   cost    rounds + 1 sums for each algorithm, and 4 size bytes until it returns
///   errors  invalid_option unless rounds is at least 1
detail::collectives::algorithm fastest_all_reduce(
    transport_ref through, std::int64_t size, std::int64_t rounds = 3,
    wire::value_format format = wire::value_format::fp32);

/// Sums with the algorithm that was fastest when the strategy was bound, for each size of tensor.
/// It is not the default: it costs some sums at the start, and the measurement decides the order of
/// additions. So a run, even a resumed one, does not repeat another bit for bit. The ranks of one
/// run still get the same bits.
struct measured {
    static constexpr bool sums = true;
    std::int64_t rounds = 3;  // measured rounds; the fastest counts

    void describe(auto&& field) const { field("rounds", rounds); }

    /// Blocks until every rank has bound the same sum: see fastest_all_reduce.
    auto bind(transport_ref through, std::int64_t size_max,
              wire::value_format format = wire::value_format::fp32) const {
        return detail::collectives::all_reduce(
            through, size_max, fastest_all_reduce(through, size_max, rounds, format), format);
    }
};

}  // namespace sotto::collectives

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/collectives/measured.ipp"
#endif
