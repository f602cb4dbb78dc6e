#pragma once

#include "sotto/transports/detail/messaging/handshake.hpp"

#include <cstddef>
#include <span>

#include "sotto/core/bytes.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/deadline.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/wire/detail/protocols/frame.hpp"

namespace sotto::detail::net {

SOTTO_DECL std::uint64_t digest_of(const std::string& text) noexcept {
    return wire::frame_digest(std::as_bytes(std::span(text)), 0);
}

SOTTO_DECL wire::hello hello_of(const tcp_options& options) {
    wire::hello h;
    h.rank = static_cast<std::uint32_t>(options.rank);
    h.world = static_cast<std::uint32_t>(options.size);
    h.job = digest_of(options.job);
    h.agreed = {static_cast<std::uint64_t>(options.heartbeat.count()),
                static_cast<std::uint64_t>(options.dead_after.count()),
                static_cast<std::uint64_t>(options.timeout.count()),
                static_cast<std::uint64_t>(options.budget),
                static_cast<std::uint64_t>(options.elastic),
                digest_of(options.configuration)};
    return h;
}

SOTTO_DECL wire::rendezvous_message judge(const wire::hello& theirs,
                                          const wire::hello& ours) noexcept {
    wire::rendezvous_message answer{.rank = ours.rank, .incarnation = ours.incarnation};
    const auto refused = [&](wire::refusal why, std::uint64_t own, std::uint64_t said) {
        answer.what = wire::saying::refused;
        answer.why = why;
        answer.ours = own;
        answer.theirs = said;
        return answer;
    };
    if (theirs.version_lowest > ours.version_highest ||
        theirs.version_highest < ours.version_lowest)
        return refused(wire::refusal::version, ours.version_highest, theirs.version_highest);
    if (theirs.job != ours.job) return refused(wire::refusal::job, ours.job, theirs.job);
    if (theirs.world != ours.world) return refused(wire::refusal::world, ours.world, theirs.world);
    if (theirs.rank >= ours.world) return refused(wire::refusal::rank, ours.world, theirs.rank);
    if (theirs.epoch != ours.epoch) return refused(wire::refusal::epoch, ours.epoch, theirs.epoch);
    for (std::size_t i = 0; i < wire::agreed_values; ++i)
        if (theirs.agreed[i] != ours.agreed[i]) {
            answer.which = static_cast<std::uint8_t>(i);
            return refused(wire::refusal::agreed, ours.agreed[i], theirs.agreed[i]);
        }
    return answer;
}

SOTTO_DECL std::string reason(const wire::rendezvous_message& refusal, int rank,
                              const std::string& job) {
    const std::string us = "rank " + std::to_string(rank);
    const std::string them = "rank " + std::to_string(refusal.rank);
    const auto differ = [&](const std::string& what, const char* unit = "") {
        const auto text = [&](std::uint64_t value) {
            constexpr auto never = static_cast<std::uint64_t>(deadline::never.count());
            return value == never ? "deadline::never" : std::to_string(value) + unit;
        };
        return us + " has " + what + " " + text(refusal.theirs) + " where " + them + " has " +
               text(refusal.ours);
    };
    switch (refusal.why) {
        case wire::refusal::version: return differ("protocol version");
        case wire::refusal::world: return differ("world size");
        case wire::refusal::epoch: return differ("membership epoch");
        case wire::refusal::job:
            return us + " and " + them + " are of two jobs, one of them of '" + job +
                   "': tcp_options::job differs";
        case wire::refusal::rank:
            return "there is no " + us + " in the world of " + them + ", of " +
                   std::to_string(refusal.ours) + " ranks";
        case wire::refusal::agreed: {
            const std::string name = wire::agreed_name(refusal.which);
            if (name == "configuration")
                return us + " and " + them + " have different texts as tcp_options::configuration";
            if (name == "elastic") {
                const auto may = [](std::uint64_t they) { return they != 0 ? " may" : " may not"; };
                return "by " + us + " ranks" + may(refusal.theirs) + " go and come again, by " +
                       them + " they" + may(refusal.ours) + ": tcp_options::elastic differs";
            }
            return differ("tcp_options::" + name, name == "budget" ? "" : " ns");
        }
        case wire::refusal::duplicate: return "another process is " + us + " already, says " + them;
        default: return them + " did not expect this connection of " + us;
    }
}

SOTTO_DECL void require_welcome(const wire::rendezvous_message& said, int peer, std::uint64_t known,
                                const std::string& where) {
    std::string how;
    if (said.what != wire::saying::welcome)
        how = "with something else";
    else if (said.rank != static_cast<std::uint32_t>(peer))
        how = "as rank " + std::to_string(said.rank);
    else if (said.incarnation == 0 || (known != 0 && said.incarnation != known))
        how = "as another process than before, or as none";
    if (!how.empty())
        throw mismatch("tcp: " + where + " answers " + how + "; expected rank " +
                       std::to_string(peer) + ", which greets");
}

SOTTO_DECL void raise(const wire::rendezvous_message& refusal, int rank, const std::string& job) {
    if (refusal.why == wire::refusal::lost)
        throw peer_failure(static_cast<int>(refusal.ours), "it was lost, says rank 0",
                           {.phase = "rendezvous"});
    if (refusal.why == wire::refusal::absent) {
        const std::string first = "rank " + std::to_string(refusal.ours);
        const std::string all =
            refusal.theirs == 1
                ? first
                : std::to_string(refusal.theirs) + " ranks, the first of them " + first + ",";
        throw error(errc::timed_out, "tcp: " + all +
                                         " never came, says rank 0, which knows whom it turned "
                                         "away");
    }
    throw mismatch("tcp: " + reason(refusal, rank, job));
}

}  // namespace sotto::detail::net
