#pragma once

#include <cstdint>

#include "sotto/collectives/all_reduce.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"
#include "sotto/wire/value_format.hpp"

namespace sotto::collectives {

/// The fastest algorithm for sums of so many floats here and now. Blocks while all ranks try each
/// of them: every rank calls it, with the same arguments, while nothing else goes through the
/// transport.
///   math    an algorithm's time on a rank is the least of its rounds, its time the greatest of all
///           ranks': a sum is there when the slowest has it. The least time wins, of equals the
///           first of ring, tree, halving_doubling and, in fp32, recursive_doubling: with two
///           bytes a value it is halving_doubling again. Every rank decides on the same times
///   cost    rounds + 1 sums by each algorithm, and 4 size bytes until it returns
///   errors  invalid_option unless rounds is at least 1
detail::collectives::algorithm fastest_all_reduce(
    transport_ref through, std::int64_t size, std::int64_t rounds = 3,
    wire::value_format format = wire::value_format::fp32);

/// Sums by what was fastest when the strategy was bound, for each size of tensor: to be asked for,
/// since it costs some sums to start with, and the order of additions follows from the measurement:
/// a run, also one that is resumed, does not repeat another bit for bit any more. Its ranks still
/// agree on every bit.
struct measured {
    static constexpr bool sums = true;
    std::int64_t rounds = 3;  // of which the fastest counts

    void describe(auto&& field) const { field("rounds", rounds); }

    /// Blocks until every rank has bound the same: see fastest_all_reduce.
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
