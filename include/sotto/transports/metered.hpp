#pragma once

#include <algorithm>
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
#include "sotto/transports/detail/messaging/ballot_transport.hpp"
#include "sotto/transports/detail/messaging/blame.hpp"
#include "sotto/transports/fail_with_exception.hpp"
#include "sotto/transports/transport.hpp"

namespace sotto {

/// Transport that counts the traffic of another one, separately for every peer and every channel.
/// It borrows the other transport. It counts a transfer when its completion is reported.
///   cost    8 bytes a transfer in flight, 32 bytes a pair of peer and channel; a few additions a
///           transfer
///   errors  invalid_option: fewer than 1 channel or more than 65536; all others are the inner
///           transport's
template <transport Inner>
class metered {
public:
    /// Channels 0 to channels-2 are counted separately, all higher ones together as the last.
    explicit metered(Inner& inner, int channels = 16) : inner_(&inner), channels_(channels) {
        if (channels < 1 || channels > 65536)
            throw invalid_option("metered: " + std::to_string(channels) +
                                 " channels; 1 to 65536 are possible");
        counts_.resize(static_cast<std::size_t>(inner.size()) * static_cast<std::size_t>(channels));
    }

    /// Traffic with one rank, over all channels.
    traffic with(int peer) const noexcept {
        return sum([&](int p, int) { return p == peer; });
    }
    /// Traffic through one channel, with all ranks.
    traffic on(std::uint32_t channel) const noexcept {
        return sum([&](int, int c) { return c == place(channel); });
    }
    /// Traffic with one rank through one channel.
    traffic with(int peer, std::uint32_t channel) const noexcept {
        return sum([&](int p, int c) { return p == peer && c == place(channel); });
    }
    traffic counters() const noexcept {
        return sum([](int, int) { return true; });
    }

    int rank() const noexcept { return inner_->rank(); }
    int size() const noexcept { return inner_->size(); }

    request send(int to, tag label, byte_view out) {
        return note(inner_->send(to, label, out), {place(label.channel), to});
    }
    request receive(int from, tag label, mutable_byte_view in) {
        return note(inner_->receive(from, label, in), {place(label.channel), receives});
    }
    std::optional<completion> poll(request r) {
        const auto ended = inner_->poll(r);
        if (ended) count(r, *ended);
        return ended;
    }
    completion wait(request r) {
        const completion ended = inner_->wait(r);
        count(r, ended);
        return ended;
    }

    std::uint64_t activity() { return inner_->activity(); }
    void await(std::uint64_t seen) { inner_->await(seen); }
    bool agree(bool vote) { return inner_->agree(vote); }
    /// Opens a ballot of the inner transport.
    decltype(auto) open_ballot(std::span<const int> members,
                               std::uint32_t label) requires detail::ballot_transport<Inner> {
        return inner_->open_ballot(members, label);
    }
    template <class Ballot>
        requires detail::ballot_transport<Inner>
    bool agree(Ballot&& among, bool vote) { return inner_->agree(among, vote); }
    void withdraw() noexcept { inner_->withdraw(); }
    void fail(std::string_view cause, errc kind = errc::peer_failed) noexcept {
        detail::fail_as(*inner_, cause, kind);
    }
    [[noreturn]] void blame(int rank, const std::string& cause, errc code) requires
        requires(Inner& inner) {
        inner.blame(0, cause, code);
    }
    { detail::blame(*inner_, rank, cause, code); }
    void at(peer_failure::job_phase now) { inner_->at(now); }
    void reserve(std::int64_t count) {
        inner_->reserve(count);
        if (static_cast<std::size_t>(count) > in_flight_.size())
            in_flight_.resize(static_cast<std::size_t>(count));
    }
    time_point now() const { return inner_->now(); }
    void charge(work amount) { inner_->charge(amount); }
    std::string simulated_network() const { return simulated_network_of(*inner_); }

private:
    static constexpr int receives = -1;

    struct transfer {
        int channel = 0;
        int to = receives;
    };

    int place(std::uint32_t channel) const noexcept {
        return static_cast<int>((std::min)(channel, static_cast<std::uint32_t>(channels_ - 1)));
    }

    request note(request made, transfer what) {
        if (made.slot >= in_flight_.size()) in_flight_.resize(std::size_t{2} * made.slot + 16);
        in_flight_[made.slot] = what;
        return made;
    }

    void count(request r, const completion& ended) noexcept {
        const transfer& what = in_flight_[r.slot];
        const int peer = what.to == receives ? ended.source : what.to;
        traffic& t = counts_[static_cast<std::size_t>(peer) * static_cast<std::size_t>(channels_) +
                             static_cast<std::size_t>(what.channel)];
        (what.to == receives ? t.bytes_received : t.bytes_sent) += ended.bytes;
        ++(what.to == receives ? t.messages_received : t.messages_sent);
    }

    template <class Chosen>
    traffic sum(Chosen chosen) const noexcept {
        traffic all;
        for (std::size_t i = 0; i < counts_.size(); ++i) {
            const auto channels = static_cast<std::size_t>(channels_);
            if (!chosen(static_cast<int>(i / channels), static_cast<int>(i % channels))) continue;
            all.bytes_sent += counts_[i].bytes_sent;
            all.bytes_received += counts_[i].bytes_received;
            all.messages_sent += counts_[i].messages_sent;
            all.messages_received += counts_[i].messages_received;
        }
        return all;
    }

    Inner* inner_;
    int channels_;
    std::vector<traffic> counts_;      // by peer, then by channel
    std::vector<transfer> in_flight_;  // by the slot of the request
};

}  // namespace sotto
