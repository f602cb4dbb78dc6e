#pragma once

#include "sotto/transports/group.hpp"

#include <utility>

#include "sotto/core/config.hpp"

namespace sotto {

SOTTO_DECL group::group(transport_ref parent, std::vector<int> members, std::uint32_t label)
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

SOTTO_DECL request group::send(int to, tag label, byte_view out) {
    return send_labelled(to, checked(label), out);
}

SOTTO_DECL request group::receive(int from, tag label, mutable_byte_view in) {
    return receive_labelled(from, checked(label), in);
}

SOTTO_DECL std::optional<completion> group::poll(request r) {
    const auto ended = parent_.poll(r);
    return ended ? std::optional(inner(*ended)) : std::nullopt;
}

SOTTO_DECL bool group::agree(bool vote) {
    return ballot_ ? parent_.agree(ballot_, vote) : agree_by_messages(vote);
}

SOTTO_DECL detail::opened_ballot group::open_ballot(std::span<const int> members,
                                                    std::uint32_t label) {
    std::vector<int> outer_members;
    for (const int member : members) outer_members.push_back(parent_rank(member));
    return parent_.open_ballot(outer_members, label_ << 8 | label);
}

SOTTO_DECL void group::fail(std::string_view cause, errc kind) noexcept {
    parent_.fail(cause, kind);
}

SOTTO_DECL void group::blame(int rank, const std::string& cause, errc code) {
    parent_.blame(parent_rank(rank), cause, code);
}

SOTTO_DECL int group::outer(const char* what, int rank, int lowest) const {
    if (rank < lowest || rank >= size())
        throw invalid_option("group: rank " + std::to_string(rank_) + ": " + what + " with rank " +
                             std::to_string(rank) + "; ranks are 0 to " +
                             std::to_string(size() - 1));
    return rank == any_rank ? any_rank : parent_rank(rank);
}

SOTTO_DECL tag group::checked(tag label) {
    if (label.channel >= channels)
        throw invalid_option("group: channel " + std::to_string(label.channel) +
                             "; channels are 0 to 65535");
    return label;
}

SOTTO_DECL tag group::outer(tag label) const noexcept {
    label.channel += label_ << (8 + 8 * depth_);
    return label;
}

SOTTO_DECL request group::send_labelled(int to, tag label, byte_view out) {
    to = outer("send", to, 0);
    return parent_.calls_->send_labelled(parent_.over_, to, outer(label), out);
}

SOTTO_DECL request group::receive_labelled(int from, tag label, mutable_byte_view in) {
    from = outer("receive", from, any_rank);
    return parent_.calls_->receive_labelled(parent_.over_, from, outer(label), in);
}

SOTTO_DECL completion group::inner(completion ended) const noexcept {
    ended.source = ranks_[static_cast<std::size_t>(ended.source)];
    return ended;
}

SOTTO_DECL bool group::agree_by_messages(bool vote) {
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

SOTTO_DECL group split(transport_ref parent, std::int32_t color, std::uint32_t label) {
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
