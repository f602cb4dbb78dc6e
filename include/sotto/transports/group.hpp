#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sotto/core/bytes.hpp"
#include "sotto/core/clock.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto {

/// A subset of the ranks of another transport, renumbered from 0 in the same order. It is itself a
/// transport, so a strategy runs in a group unchanged. It borrows its parent. `split` makes all
/// groups of a world at once.
///
/// If the parent has `open_ballot`, `agree` uses it and is atomic. Otherwise the members send their
/// votes to rank 0 of the group, which sends the verdict back. If a rank fails between the first
/// and the last verdict, ranks that have the verdict return it and the others throw.
///
/// Errors name ranks by their numbers in the whole world. counters() counts all traffic of the
/// parent; wrap the group in a `metered` to count its own.
///   wire    the parent's channels from label * 2^16 on (label * 2^24 in a group of a group)
///   errors  invalid_option: a channel of 2^16 or more. A label that is not 1 to 255. Members that
///           are not ascending ranks of the parent with the caller among them. A group of a group
///           of a group: a channel has room for two labels
class group {
public:
    /// Makes a group of these ranks of the parent, in ascending order. Groups with the same label
    /// must have no rank in common.
    group(transport_ref parent, std::vector<int> members, std::uint32_t label = 1);

    int rank() const noexcept { return rank_; }
    int size() const noexcept { return static_cast<int>(members_.size()); }

    /// Number of this rank in the parent.
    int parent_rank(int rank) const noexcept { return members_[static_cast<std::size_t>(rank)]; }

    request send(int to, tag label, byte_view out);
    request receive(int from, tag label, mutable_byte_view in);
    std::optional<completion> poll(request r);
    completion wait(request r) { return inner(parent_.wait(r)); }

    std::uint64_t activity() { return parent_.activity(); }
    void await(std::uint64_t seen) { parent_.await(seen); }

    bool agree(bool vote);

    /// Groups of groups vote as their common parent does.
    detail::opened_ballot open_ballot(std::span<const int> members, std::uint32_t label);
    bool agree(detail::opened_ballot among, bool vote) { return parent_.agree(among, vote); }

    void withdraw() noexcept { parent_.withdraw(); }
    void fail(std::string_view cause, errc kind = errc::peer_failed) noexcept;
    [[noreturn]] void blame(int rank, const std::string& cause, errc code);
    void at(peer_failure::job_phase now) { parent_.at(now); }
    void reserve(std::int64_t count) { parent_.reserve(count); }
    time_point now() const { return parent_.now(); }
    void charge(work amount) { parent_.charge(amount); }
    traffic counters() const { return parent_.counters(); }
    std::string simulated_network() const { return parent_.simulated_network(); }

private:
    friend struct detail::calls_of_group;

    static constexpr int nobody = -1;
    static constexpr int depth_max = 2;
    static constexpr std::uint32_t channels = 1u << 16;

    int outer(const char* what, int rank, int lowest) const;

    static tag checked(tag label);

    tag outer(tag label) const noexcept;

    // A group within this one adds its label above the label of this group. Only that group may use
    // its channels, through these two members.
    request send_labelled(int to, tag label, byte_view out);
    request receive_labelled(int from, tag label, mutable_byte_view in);

    completion inner(completion ended) const noexcept;

    bool agree_by_messages(bool vote);

    transport_ref parent_;
    std::vector<int> members_;  // numbers in the parent, by rank of this group
    std::vector<int> ranks_;    // ranks of this group, by rank of the parent
    std::uint32_t label_;
    int depth_;  // nesting depth, 1 for a group of the whole world
    int rank_ = 0;
    std::uint64_t votes_ = 0;
    detail::opened_ballot ballot_;  // empty: votes travel as messages
};

/// Splits the parent into groups of the ranks that pass the same color. Every rank of the parent
/// must call it, with the same label. Several splits of one parent need different labels.
///   cost    one message of 4 bytes from each rank to each other rank
group split(transport_ref parent, std::int32_t color, std::uint32_t label = 1);

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/group.ipp"
#endif
