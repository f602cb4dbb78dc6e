#pragma once

#include <concepts>
#include <optional>
#include <string>

#include "sotto/core/errors.hpp"
#include "sotto/transports/transport.hpp"

namespace sotto {

/// A rank failed, left, or joined again.
struct rank_change {
    int rank = 0;          // rank that changed
    bool is_here = false;  // true: it joined again; false: it failed or left
    bool left = false;     // it reported that it is done
    std::string cause{};   // why it is absent
};

/// A transport on which ranks may leave and join again while others work, after a call of
/// tolerate():
///   tolerate()       From now on the failure of a rank ends only the transfers with that rank. For
///                    these, `poll`, `wait` and new transfers throw peer_failure; a receive from
///                    any rank continues. The throwing rank has not withdrawn, and its other calls
///                    work. Messages that the failed rank had sent can still be received, also by
///                    later receives. A rank that is awaited until the deadline counts as failed.
///                    If it is alive, it is notified: it sees the ranks that dropped it as failed,
///                    and they accept nothing more from it. Call this before anything can fail
///   agree(vote)      throws once a rank has failed or left; it is atomic only while none does. A
///                    rank that joined again has no vote. While it is there, `agree` throws on the
///                    others, and on that rank once they are late
///   await(seen)      also returns after waiting_time::slice_max: its caller may wait for no
///                    particular rank, and has its own `deadline`
///   blame(r, c, k)   reports that rank r failed by what it sent or did not do, with cause c of
///                    errc k. Drops rank r and throws peer_failure for it. If r is this rank, it
///                    has withdrawn
///   next_change()    returns the next rank that failed, left or joined again. `activity` changes
///                    when there is one. Messages of a rank that failed or left can be received
///                    until the next call. Messages of a rank that joined again can be received
///                    only after the call that returned it
template <class T>
concept tolerant_transport = transport<T> && requires(T& t, int rank, const std::string& cause) {
    t.tolerate();
    t.blame(rank, cause, errc::malformed);
    { t.next_change() } -> std::same_as<std::optional<rank_change>>;
};

}  // namespace sotto
