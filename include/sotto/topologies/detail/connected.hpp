#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/topologies/mixing_matrix.hpp"
#include "sotto/topologies/topology.hpp"

namespace sotto::detail::topologies {

/// Table of rounds by rank and place in the period. Forwards: the number of rounds until a value
/// that rank 0 holds at the start of a period first reaches that entry. Backwards: the number of
/// rounds before the start of a period at which a rank must hold a value for it to reach rank 0.
/// -1: never.
template <class State>
class spread {
public:
    spread(State& state, int size, bool backwards)
        : state_(&state),
          size_(size),
          period_(state.period()),
          backwards_(backwards),
          rounds_(static_cast<std::size_t>(size * period_), -1) {
        std::vector<int> here{0}, next;
        at(0, 0) = 0;
        for (std::int64_t round = 1; !here.empty(); ++round, here.swap(next)) {
            next.clear();
            each_link(round - 1, here, [&](int, int to) {
                if (at(to, round) >= 0) return;
                at(to, round) = round;
                next.push_back(to);
            });
        }
    }

    /// Returns the first rank that is never reached at the start of a period, or -1 if there is
    /// none.
    int missed() {
        for (int rank = 0; rank < size_; ++rank)
            if (at(rank, 0) < 0) return rank;
        return -1;
    }

    /// Returns the greatest common divisor of all cycle lengths: the numbers of rounds after which
    /// a rank's values return to it at the same place in the period.
    std::int64_t rhythm() {
        std::int64_t found = 0;
        std::vector<int> here;
        for (std::int64_t place = 0; place < period_; ++place) {
            here.clear();
            for (int rank = 0; rank < size_; ++rank)
                if (at(rank, place) >= 0) here.push_back(rank);
            each_link(place, here, [&](int from, int to) {
                found = std::gcd(found, at(from, place) + 1 - at(to, place + 1));
            });
        }
        return found;
    }

private:
    std::int64_t& at(int rank, std::int64_t round) {
        return rounds_[static_cast<std::size_t>(rank * period_ + round % period_)];
    }

    /// Calls see(from, to) for each nonzero entry of the matrix, the ranks' own weights included.
    void each_link(std::int64_t round, const std::vector<int>& of, auto see) {
        const std::int64_t place = round % period_;
        const sotto::topologies::mixing_matrix& w =
            state_->matrix(backwards_ ? period_ - 1 - place : place);
        for (const int rank : of) {
            if (w.kept_share(rank) > sotto::topologies::mixing_matrix::rounding) see(rank, rank);
            for (const neighbour& n : backwards_ ? w.into(rank) : w.out_of(rank)) see(rank, n.rank);
        }
    }

    State* state_;
    int size_;
    std::int64_t period_;
    bool backwards_;
    std::vector<std::int64_t> rounds_;  // by rank, then place
};

/// Rejects a topology whose rounds never bring all ranks to one mean. A topology that draws each
/// round at random (period 0) is not checked: one of its matrices alone may leave ranks apart.
/// `name` appears in errors.
///   math    the product of a period's matrices must be irreducible, with 1 as its only eigenvalue
///           of magnitude 1. The value of each rank then reaches every other, and values do not
///           oscillate
///   cost    O(period (ranks + links))
///   errors  invalid_option: ranks that never exchange values, naming the first; ranks that swap
///           values without end, because their own weights are 0
template <class State>
void require_connected(State& state, const std::string& name = {}) {
    const int size = state.matrix(0).size();
    if (size == 1 || state.period() < 1) return;
    const std::string which = name.empty() ? "topology" : "topology '" + name + "'";
    const auto refuse = [&](int from, int to) {
        throw invalid_option(which + ": what rank " + std::to_string(from) +
                             " has never comes to rank " + std::to_string(to) +
                             ": the graph is not connected, and its parts would never come "
                             "together; link them");
    };
    spread forth(state, size, false);
    if (const int missed = forth.missed(); missed >= 0) refuse(0, missed);
    if (const int missed = spread(state, size, true).missed(); missed >= 0) refuse(missed, 0);
    if (forth.rhythm() != state.period())
        throw invalid_option(
            which +
            ": ranks whose own weights are 0 hand all that they have to and fro, and would "
            "never come together: topologies::lazy{...} gives them weights of their own");
}

}  // namespace sotto::detail::topologies
