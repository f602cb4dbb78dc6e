#pragma once

#include <string>

#include "sotto/core/errors.hpp"
#include "sotto/core/result.hpp"

namespace sotto::detail {

/// Ends the job because of something that a rank sent. Every rank then names that rank and the
/// cause. Throws peer_failure for the rank that failed first. On a transport without `blame` it
/// throws an error whose text names the rank.
template <class Transport>
[[noreturn]] void blame(Transport& through, int rank, const std::string& cause, errc code) {
    if constexpr (requires { through.blame(rank, cause, code); }) through.blame(rank, cause, code);
    throw error(code, "rank " + std::to_string(rank) + " failed: " + cause);
}

/// Returns read(), which decodes data that `rank` sent. If read() throws malformed, blames that
/// rank, or the rank that a malformed_message names, and not the rank that decoded. about() ends
/// the text of the cause. A rank that is alone gets the exception of read().
template <class Transport, class Read, class About>
auto read_from(Transport& through, int rank, Read read, About about) -> decltype(read()) {
    const auto cause = [&](const malformed& e) {
        return std::string("what it sent cannot be read: ") + e.what() + about();
    };
    try {
        return read();
    } catch (const malformed_message& e) {
        if (through.size() == 1) throw;
        blame(through, e.rank(), cause(e), errc::malformed);
    } catch (const malformed& e) {
        if (through.size() == 1) throw;
        blame(through, rank, cause(e), errc::malformed);
    }
}
template <class Transport, class Read>
auto read_from(Transport& through, int rank, Read read) -> decltype(read()) {
    return read_from(through, rank, read, [] { return ""; });
}

/// read_from on a transport whose ranks may leave. The rank whose message cannot be read is
/// dropped, and the others continue. Returns false in that case. If it is this rank, its job is
/// over: throws peer_failure.
template <class Transport, class Read>
bool read_or_let_leave(Transport& through, int rank, Read read) {
    try {
        read_from(through, rank, read);
        return true;
    } catch (const peer_failure& e) {
        if (e.code() != errc::malformed || e.rank() == through.rank()) throw;
        return false;
    }
}

}  // namespace sotto::detail
