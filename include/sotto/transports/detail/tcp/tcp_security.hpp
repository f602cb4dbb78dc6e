#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "sotto/core/bytes.hpp"
#include "sotto/core/deadline.hpp"

namespace sotto::detail::net {

/// Result of an attempt to move bytes.
struct moved {
    std::size_t bytes = 0;
    bool closed = false;   // the peer has ended its side, or the connection is lost
    std::string why{};     // if closed: how
    bool altered = false;  // if closed: the received data differ from what the peer sent
};

/// Encryption of one connection. It never blocks. Its first bytes are a handshake, during which
/// `read` and `write` move no bytes.
class secure_session {
public:
    virtual ~secure_session() = default;

    /// Fills `into` with the available bytes.
    virtual moved read(std::span<const mutable_byte_view> into) = 0;
    virtual moved write(std::span<const byte_view> from) = 0;
    /// True if writing must wait until something was read.
    virtual bool write_waits_for_input() const noexcept = 0;
    /// True if the other end was refused, because it does not have the secret.
    virtual bool is_refused() const noexcept = 0;
    /// Rank that the connecting end has proven to be.
    virtual std::optional<int> client() const noexcept = 0;
};

}  // namespace sotto::detail::net

namespace sotto::detail {

/// Protects connections from processes that are not of the job. The only implementation is
/// pre_shared_key, in sotto/transports/tcp_tls.hpp, which needs OpenSSL.
class tcp_security {
public:
    virtual ~tcp_security() = default;

    /// Called when a rank begins to join, before any connection. May block until `limit` has
    /// passed, which is that of tcp_options::join. It must check the limit once per slice while it
    /// blocks.
    virtual void prepare(deadline& /*limit*/) const {}

    /// Starts a session from rank `own` to rank `peer`, over an open connection that the session
    /// does not own.
    virtual std::unique_ptr<net::secure_session> connect(int handle, const std::string& job,
                                                         int own, int peer) const = 0;
    /// Starts a session over a connection that a stranger made to rank `own`. Its first bytes have
    /// already been read.
    virtual std::unique_ptr<net::secure_session> accept(int handle, const std::string& job, int own,
                                                        byte_view first) const = 0;

    /// True if a stranger that sends these first_bytes may continue.
    virtual bool may_begin_with(byte_view first) const noexcept = 0;
    static constexpr std::size_t first_bytes = 5;  // number of bytes by which a stranger is judged
};

}  // namespace sotto::detail
