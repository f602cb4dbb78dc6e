#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "sotto/core/bytes.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/wire/frame.hpp"
#include "sotto/wire/hello.hpp"

namespace sotto::detail::net {

/// Texts that all ranks must have alike are compared by these.
inline std::uint64_t digest_of(const std::string& text) noexcept {
    return wire::frame_digest(std::as_bytes(std::span(text)), 0);
}

/// The answer to what another rank says of itself, by what this one would say: whether both are of
/// one job and configured alike.
inline wire::welcome judge(const wire::hello& theirs, const wire::hello& ours) noexcept {
    wire::welcome answer{.rank = ours.rank, .incarnation = ours.incarnation};
    const auto refused = [&](wire::refusal why, std::uint64_t own, std::uint64_t said) {
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

/// Throws what a refusal means to the rank that was refused.
///   errors  mismatch: configured differently, or a rank that there is already; peer_failure: a
///           rank was lost meanwhile; error (timed_out): some never came
[[noreturn]] inline void raise(const wire::welcome& refusal, int rank, const std::string& job) {
    const std::string us = "rank " + std::to_string(rank);
    const std::string them = "rank " + std::to_string(refusal.rank);
    const auto differ = [&](const std::string& what) {
        return mismatch("tcp: " + us + " has " + what + " " + std::to_string(refusal.theirs) +
                        " where " + them + " has " + std::to_string(refusal.ours));
    };
    switch (refusal.why) {
        case wire::refusal::version: throw differ("protocol version");
        case wire::refusal::world: throw differ("world size");
        case wire::refusal::epoch: throw differ("membership epoch");
        case wire::refusal::job:
            throw mismatch("tcp: " + us + " is of job '" + job + "', and " + them +
                           " of another one");
        case wire::refusal::rank:
            throw mismatch("tcp: there is no " + us + " in the world of " + them + ", of " +
                           std::to_string(refusal.ours) + " ranks");
        case wire::refusal::agreed: {
            const std::string name = wire::agreed_name(refusal.which);
            if (name == "configuration")
                throw mismatch("tcp: " + us + " and " + them +
                               " have another tcp_options::configuration");
            throw differ("tcp_options::" + name);
        }
        case wire::refusal::duplicate:
            throw mismatch("tcp: another process is " + us + " already, says " + them);
        case wire::refusal::lost:
            throw peer_failure(static_cast<int>(refusal.ours), "it was lost, says rank 0",
                               {.phase = "rendezvous"});
        case wire::refusal::absent:
            throw error(errc::timed_out, "tcp: " + std::to_string(refusal.theirs) +
                                             " ranks never came, says rank 0; the first is rank " +
                                             std::to_string(refusal.ours));
        default: throw mismatch("tcp: " + them + " did not expect this connection of " + us);
    }
}

}  // namespace sotto::detail::net
