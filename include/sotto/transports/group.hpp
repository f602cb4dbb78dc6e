#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sotto/core/bytes.hpp"
#include "sotto/core/clock.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto {

/// Some ranks of another transport, numbered anew from 0 in the same order: a transport like any
/// other, so that a strategy runs in a group unchanged. It borrows its parent. `split` makes all
/// groups of a world at once.
///
/// `agree` is the parent's own where it is one with `open_ballot`, and then atomic. Otherwise the
/// votes go to rank 0 of the group and the verdict back by messages: should a rank fail between the
/// first verdict and the last, those who have it return it and the others throw.
///
/// Errors name ranks as the whole world numbers them. counters() are the parent's, of all that goes
/// through it; for a group's own put a `metered` around it.
///   wire    the parent's channels from label * 2^16 on (label * 2^24 in a group of a group)
///   errors  invalid_option: a channel of 2^16 or more; a label that is not 1 to 255; members that
///           are not ascending ranks of the parent with the caller among them; a group of a group of
///           a group: a channel has room for two labels
class group {
public:
    /// Of these ranks of the parent, ascending; groups with the same label must have no rank in
    /// common.
    group(transport_ref parent, std::vector<int> members, std::uint32_t label = 1)
        : parent_(parent),
          members_(std::move(members)),
          label_(label),
          depth_((parent.calls_->group_depth ? parent.calls_->group_depth(parent.over_) : 0) + 1) {
        if (depth_ > depth_max)
            throw invalid_option(
                "group: groups of groups of groups are not possible; a channel has room for two "
                "labels");
        if (label < 1 || label > 255)
            throw invalid_option("group: the label is " + std::to_string(label) +
                                 "; 1 to 255 are possible");
        ranks_.assign(static_cast<std::size_t>(parent.size()), nobody);
        int last = -1, index = 0;
        for (const int member : members_) {
            if (member <= last || member >= parent.size())
                throw invalid_option("group: member " + std::to_string(member) + " after " +
                                     std::to_string(last) + "; members are ascending ranks below " +
                                     std::to_string(parent.size()));
            ranks_[static_cast<std::size_t>(member)] = index++;
            last = member;
        }
        rank_ = ranks_[static_cast<std::size_t>(parent.rank())];
        if (rank_ == nobody)
            throw invalid_option("group: rank " + std::to_string(parent.rank()) +
                                 " is not one of its own members");
        ballot_ = parent.open_ballot(members_, label);
    }

    int rank() const noexcept { return rank_; }
    int size() const noexcept { return static_cast<int>(members_.size()); }

    /// The same rank as the parent numbers it.
    int parent_rank(int rank) const noexcept { return members_[static_cast<std::size_t>(rank)]; }

    request send(int to, tag label, byte_view out) {
        return send_labelled(to, checked(label), out);
    }
    request receive(int from, tag label, mutable_byte_view in) {
        return receive_labelled(from, checked(label), in);
    }
    std::optional<completion> poll(request r) {
        const auto ended = parent_.poll(r);
        return ended ? std::optional(inner(*ended)) : std::nullopt;
    }
    completion wait(request r) { return inner(parent_.wait(r)); }

    std::uint64_t activity() { return parent_.activity(); }
    void await(std::uint64_t seen) { parent_.await(seen); }

    bool agree(bool vote) {
        return ballot_ ? parent_.agree(ballot_, vote) : agree_by_messages(vote);
    }

    /// Groups of groups vote as their common parent does.
    detail::opened_ballot open_ballot(std::span<const int> members, std::uint32_t label) {
        std::vector<int> outer_members;
        for (const int member : members) outer_members.push_back(parent_rank(member));
        return parent_.open_ballot(outer_members, label_ << 8 | label);
    }
    bool agree(detail::opened_ballot among, bool vote) { return parent_.agree(among, vote); }

    void withdraw() noexcept { parent_.withdraw(); }
    void fail(std::string_view cause, errc kind = errc::peer_failed) noexcept {
        parent_.fail(cause, kind);
    }
    [[noreturn]] void blame(int rank, const std::string& cause, errc code) {
        parent_.blame(parent_rank(rank), cause, code);
    }
    void at(peer_failure::occasion now) { parent_.at(now); }
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

    int outer(const char* what, int rank, int lowest) const {
        if (rank < lowest || rank >= size())
            throw invalid_option("group: rank " + std::to_string(rank_) + ": " + what +
                                 " with rank " + std::to_string(rank) + "; ranks are 0 to " +
                                 std::to_string(size() - 1));
        return rank == any_rank ? any_rank : parent_rank(rank);
    }

    static tag checked(tag label) {
        if (label.channel >= channels)
            throw invalid_option("group: channel " + std::to_string(label.channel) +
                                 "; channels are 0 to 65535");
        return label;
    }

    tag outer(tag label) const noexcept {
        label.channel += label_ << (8 + 8 * depth_);
        return label;
    }

    // The channels of a group within this one carry its label above ours. Only it may use them: by
    // these two.
    request send_labelled(int to, tag label, byte_view out) {
        to = outer("send", to, 0);
        return parent_.calls_->send_labelled(parent_.over_, to, outer(label), out);
    }
    request receive_labelled(int from, tag label, mutable_byte_view in) {
        from = outer("receive", from, any_rank);
        return parent_.calls_->receive_labelled(parent_.over_, from, outer(label), in);
    }

    completion inner(completion ended) const noexcept {
        ended.source = ranks_[static_cast<std::size_t>(ended.source)];
        return ended;
    }

    bool agree_by_messages(bool vote) {
        const tag label{channels - 1, 0, ++votes_};
        std::byte own{vote}, verdict{vote};
        if (rank_ != 0) {
            const request sent = send(0, label, {&own, 1});
            const request received = receive(0, label, {&verdict, 1});
            wait(sent);
            wait(received);
            return verdict != std::byte{0};
        }
        for (int member = 1; member < size(); ++member) {
            std::byte other{};
            wait(receive(member, label, {&other, 1}));
            verdict &= other;
        }
        for (int member = 1; member < size(); ++member) wait(send(member, label, {&verdict, 1}));
        return verdict != std::byte{0};
    }

    transport_ref parent_;
    std::vector<int> members_;  // as the parent numbers them, by our rank
    std::vector<int> ranks_;    // ours, by the parent's rank
    std::uint32_t label_;
    int depth_;  // groups around it, itself among them
    int rank_ = 0;
    std::uint64_t votes_ = 0;
    detail::opened_ballot ballot_;  // empty: votes go by messages
};

/// Groups of the ranks that name the same color, for all ranks at once: every rank of the parent
/// calls it, with the same label. Several splits of one parent need different labels.
///   cost    one message of 4 bytes from each rank to each other one
inline group split(transport_ref parent, std::int32_t color, std::uint32_t label = 1) {
    constexpr std::uint32_t set_up_channel = (1u << 16) - 1;
    const auto size = static_cast<std::size_t>(parent.size());
    const tag meeting{set_up_channel, label, 0};
    std::vector<std::int32_t> colors(size, color);
    std::vector<request> requests;
    requests.reserve(2 * size);
    for (int peer = 0; peer < parent.size(); ++peer) {
        if (peer == parent.rank()) continue;
        const std::span<std::int32_t> theirs(&colors[static_cast<std::size_t>(peer)], 1);
        requests.push_back(parent.receive(peer, meeting, std::as_writable_bytes(theirs)));
        requests.push_back(parent.send(peer, meeting, std::as_bytes(std::span(&color, 1))));
    }
    for (const request r : requests) parent.wait(r);
    std::vector<int> members;
    for (int peer = 0; peer < parent.size(); ++peer)
        if (colors[static_cast<std::size_t>(peer)] == color) members.push_back(peer);
    return group(parent, std::move(members), label);
}

}  // namespace sotto
