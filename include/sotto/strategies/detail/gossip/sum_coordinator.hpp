#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sotto/wire/detail/protocols/gossip_word.hpp"

namespace sotto::detail {

/// What a sum over the ranks in a round has come to, and what follows from it: who sums up decides,
/// so that all do the same.
struct round_verdict {
    wire::gossip_sums sums{};  // of all that took part
    std::uint32_t ranks = 0;   // that it is of
    bool another = false;      // the step has another round
    bool skips_next = false;   // the step after it begins with none
};

/// What one rank knows of sums over the ranks in a round, where ranks may come and go: where each
/// stands, by its own words, and the last verdict that any of them knew. Without input or output.
///
/// Who sums up decides the earliest round that is waited for, of all who wait in it, once nobody
/// could still come to it: all others have told where they stand, and wait in a later round or are
/// past it. When another one has to go on with that, all tell it where they stand and the last
/// verdict that they know. What one of them was told before then holds for all: no rank waits in a
/// later round before all have been in this one, so that there is no more than one such verdict.
class sum_coordinator {
public:
    /// Of so many ranks, none of which has told anything.
    explicit sum_coordinator(int ranks) : ranks_(static_cast<std::size_t>(ranks)) {}

    /// A rank is in a round; if it waits for the verdict, it adds to it.
    void stands(int rank, const wire::gossip_place& at, bool waits,
                const wire::gossip_sums& own) noexcept;
    /// It went, or begins anew, or is done.
    void forget(int rank) noexcept { of(rank) = {}; }

    /// A verdict that another rank knows.
    void learn(const wire::gossip_place& at, const round_verdict& of_ranks) noexcept;

    /// The last verdict, as ranks tell it each other.
    void tell(wire::gossip_word& to) const noexcept;
    /// What another rank's word says of the last verdict.
    void hear(const wire::gossip_word& w) noexcept;

    /// The round of the last verdict.
    const wire::gossip_place& decided() const noexcept { return decided_; }
    /// The last verdict.
    const round_verdict& last() const noexcept { return last_; }

    /// A round whose sum is known.
    struct due {
        wire::gossip_place at{};  // which round
        round_verdict found{};    // its sum
    };
    /// The earliest that can be decided; `counts(rank)`: whether it takes part.
    template <class Counts>
    std::optional<due> next(Counts counts) const {
        const auto round = earliest(counts);
        if (!round) return std::nullopt;
        due next{*round, {}};
        for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
            const standing& s = ranks_[rank];
            if (!counts(static_cast<int>(rank))) continue;
            if (!s.has_told) return std::nullopt;
            if (s.at > *round) continue;
            if (!awaits_one(s)) return std::nullopt;  // it may still come to it
            next.found.sums.change += s.own.change;
            next.found.sums.gradient += s.own.gradient;
            next.found.sums.tells |= s.own.tells;
            next.found.sums.gradients += s.own.gradients;
            ++next.found.ranks;
        }
        return next;
    }
    /// This is the verdict from now on.
    void decide(const due& one) noexcept { learn(one.at, one.found); }

    /// Calls with each rank that waits for a verdict that is known, once.
    template <class Answer>
    void answer(Answer answer) {
        for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
            standing& s = ranks_[rank];
            if (!s.waits || decided_ < s.at) continue;
            s.waits = false;
            answer(static_cast<int>(rank));
        }
    }

private:
    struct standing {
        bool has_told = false;
        bool waits = false;
        wire::gossip_place at{};
        wire::gossip_sums own{};
    };

    standing& of(int rank) noexcept { return ranks_[static_cast<std::size_t>(rank)]; }

    bool awaits_one(const standing& s) const noexcept { return s.waits && s.at > decided_; }

    template <class Counts>
    std::optional<wire::gossip_place> earliest(Counts counts) const {
        std::optional<wire::gossip_place> found;
        for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
            if (const standing& s = ranks_[rank];
                counts(static_cast<int>(rank)) && awaits_one(s) && (!found || s.at < *found))
                found = s.at;
        return found;
    }

    std::vector<standing> ranks_;
    wire::gossip_place decided_{};
    round_verdict last_{};
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/detail/gossip/sum_coordinator.ipp"
#endif
