#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "sotto/core/bytes.hpp"
#include "sotto/core/deadline.hpp"

namespace sotto::detail::net {

/// How an attempt to move bytes ended.
struct moved {
    std::size_t bytes = 0;
    bool closed = false;   // the peer has ended its side, or the connection is lost
    std::string why{};     // closed: how
    bool altered = false;  // closed: what came is not what the peer sent
};

/// What keeps one connection secret. It never blocks; its first bytes are a handshake, which
/// `read` and `write` carry on with, moving no bytes meanwhile.
class secure_session {
public:
    virtual ~secure_session() = default;

    /// Fills `into` as far as there are bytes.
    virtual moved read(std::span<const mutable_byte_view> into) = 0;
    virtual moved write(std::span<const byte_view> from) = 0;
    /// Whether what is to be written has to wait until something was read.
    virtual bool write_waits_for_input() const noexcept = 0;
    /// Whether the other end was refused: it has not the secret.
    virtual bool is_refused() const noexcept = 0;
    /// The rank that has shown that it is one, where the other end connected to this one.
    virtual std::optional<int> client() const noexcept = 0;
};

}  // namespace sotto::detail::net

namespace sotto::detail {

/// How connections are kept from those who are not of the job. The one there is is
/// pre_shared_key, in sotto/transports/tcp_tls.hpp, which needs OpenSSL.
class tcp_security {
public:
    virtual ~tcp_security() = default;

    /// Called when a rank begins to join, before any connection. May block until `limit` has
    /// passed, that of tcp_options::join; it is looked at once per slice meanwhile.
    virtual void prepare(deadline& /*limit*/) const {}

    /// Over a connection that is open, which the session does not own, from rank `own` to rank
    /// `peer`.
    virtual std::unique_ptr<net::secure_session> connect(int handle, const std::string& job,
                                                         int own, int peer) const = 0;
    /// Over a connection that somebody made to rank `own`, and of which the first bytes are read
    /// already.
    virtual std::unique_ptr<net::secure_session> accept(int handle, const std::string& job, int own,
                                                        byte_view first) const = 0;

    /// Whether a stranger that says this first may go on; requires first_bytes of it.
    virtual bool may_begin_with(byte_view first) const noexcept = 0;
    static constexpr std::size_t first_bytes = 5;  // by which a stranger is judged
};

}  // namespace sotto::detail
