#pragma once

#include <concepts>
#include <optional>
#include <string>

#include "sotto/core/errors.hpp"
#include "sotto/transports/transport.hpp"

namespace sotto {

/// A rank went, or is there again.
struct rank_change {
    int rank = 0;          // that this is about
    bool is_here = false;  // else it went
    bool left = false;     // it said that it is done
    std::string cause{};   // why it is not here
};

/// A transport on which ranks may come and go while others work, once it tolerates that:
///   tolerate()       from now on the failure of a rank ends only transfers with that rank: `poll`
///                    and `wait` throw peer_failure for these, and so do new ones; a receive from
///                    any rank goes on. Who throws it has not withdrawn, and other calls work. What
///                    had come from that rank can still be received, by receives made then, too.
///                    A rank that is waited for
///                    until the deadline is gone. One that lives all the same is told so: to it
///                    the others are gone that gave it up, and they take nothing of it any more.
///                    Said before anything can fail
///   agree(vote)      throws once a rank is gone, and is atomic only while none goes. A rank that
///                    came again has no vote: while it is there `agree` throws at the others, and
///                    at that rank once they are late
///   await(seen)      returns after waiting_time::slice_max as well: its caller may wait for no
///                    rank in particular, and has a `deadline` of its own
///   blame(r, c, k)   rank r failed, because of c, a cause of errc k: of what it sent, or did not
///                    do. It goes, and peer_failure for it is thrown. Where it is this rank, that
///                    has withdrawn
///   next_change()    the next rank that went, failed or done, or that is there anew; `activity`
///                    tells that there is one. What a rank had sent before it went can be received
///                    until the next change is asked for, and what one sends that is there anew
///                    only from then on
template <class T>
concept tolerant_transport = transport<T> && requires(T& t, int rank, const std::string& cause) {
    t.tolerate();
    t.blame(rank, cause, errc::malformed);
    { t.next_change() } -> std::same_as<std::optional<rank_change>>;
};

}  // namespace sotto
