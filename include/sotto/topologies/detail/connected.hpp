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

/// After how many rounds what rank 0 has at the beginning of a period is first at each rank and
/// place of the period, or, backwards, how many rounds before the beginning of one a rank must have
/// something for rank 0 to have it then; -1: never.
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

    /// The first rank that is never reached when a period begins; -1: there is none.
    int missed() {
        for (int rank = 0; rank < size_; ++rank)
            if (at(rank, 0) < 0) return rank;
        return -1;
    }

    /// The greatest number that divides those of rounds after which a rank's own values come back
    /// to it at the same place of the period.
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

    /// Calls for whatever counts for something, own values among it: see(from, to).
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

/// Refuses a topology whose rounds never bring all ranks together, however many there are. One that
/// is drawn anew is not looked at: any of its matrices may leave ranks apart that others join. The
/// name is for errors.
///   math    that the product of a period's matrices is irreducible and has no eigenvalue but 1 of
///           magnitude 1: what each rank has comes to every other, and not to and fro in a rhythm
///   cost    O(period (ranks + links))
///   errors  invalid_option: ranks that never hear of each other, naming the first; ranks that
///           change places for ever, since they keep nothing of their own values
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
