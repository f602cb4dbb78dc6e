#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sotto/topologies/detail/live_weight.hpp"
#include "sotto/wire/detail/protocols/gossip_word.hpp"

namespace sotto::detail {

/// What one rank knows of the others, where ranks may come and go, and what follows from it.
/// Without input or output.
class peer_table {
public:
    /// What is known of one rank.
    struct peer {
        bool is_here = true;               // else it went
        bool is_neighbour = false;         // by some round's links
        bool has_answered = false;         // this call's hello
        bool asks_where = false;           // and is not answered yet
        bool is_alike = true;              // configured as this rank
        bool has_trained = false;          // its parameters are worth fetching
        bool takes_part = false;           // in rounds of mixing
        bool is_done = false;              // with its steps of this call
        bool is_awaited = false;           // in the round under way
        bool awaits = false;               // this rank in the round that it begins
        std::uint64_t fit = 0, since = 0;  // calls that it has begun; its first step
        wire::gossip_place at{};           // as far as is known
        wire::gossip_place said{};         // that it begins
        topologies::live_links links{};    // with which it begins that round

        /// Whether it can take part in a round.
        bool mixes() const noexcept { return is_here && takes_part && !is_done; }
    };

    /// Of so many ranks; `own` is this one.
    peer_table(int size, int own) : peers_(static_cast<std::size_t>(size)), own_(own) {}

    /// Ranks.
    int size() const noexcept { return static_cast<int>(peers_.size()); }
    /// What is known of a rank.
    peer& of(int rank) noexcept { return peers_[static_cast<std::size_t>(rank)]; }
    /// What is known of a rank.
    const peer& of(int rank) const noexcept { return peers_[static_cast<std::size_t>(rank)]; }

    /// All, this rank among them.
    void for_each(auto visit) {
        for (peer& p : peers_) visit(p);
    }
    /// Other ranks that are here: visit(rank).
    void for_each_here(auto visit) const {
        for (int rank = 0; rank < size(); ++rank)
            if (rank != own_ && of(rank).is_here) visit(rank);
    }
    /// Whether it holds for each of these.
    bool for_all_here(auto holds) const {
        bool all = true;
        for_each_here([&](int rank) { all = all && holds(of(rank)); });
        return all;
    }

    /// The first other one that is here of which holds(peer).
    std::optional<int> first_here(auto holds) const {
        std::optional<int> first;
        for_each_here([&](int rank) {
            if (!first && holds(of(rank))) first = rank;
        });
        return first;
    }

    /// One that is awaited in this round, of which it is not known whether it takes part.
    std::optional<int> first_unknown(const wire::gossip_place& round) const noexcept;

    /// The earliest step that a neighbour is in, where one mixes.
    std::optional<std::uint64_t> earliest_step() const noexcept;

    /// Who sums up: of those that take part and are not done the one who does so for longest, of
    /// equals the lowest. This rank does since step `since`, if it is not done.
    int sums_for_all(std::uint64_t since, bool is_done) const noexcept;

    /// Of whom to fetch what was learnt: rather a neighbour, and who is furthest.
    std::optional<int> best_source() const noexcept;

private:
    std::vector<peer> peers_;
    int own_;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/detail/gossip/peer_table.ipp"
#endif
