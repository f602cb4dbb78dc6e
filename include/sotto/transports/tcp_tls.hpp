#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "sotto/core/bytes.hpp"
#include "sotto/core/deadline.hpp"
#include "sotto/core/detail/files/descriptor.hpp"
#include "sotto/transports/detail/tcp/tcp_security.hpp"

namespace sotto::detail::net {

// Compiled mode does not include OpenSSL here.
struct job_secret;
struct tls_context;

}  // namespace sotto::detail::net

namespace sotto {

/// TLS 1.3 by a secret that all ranks of a job share: no one else takes part, reads along, or
/// changes a byte unnoticed, and what was recorded stays unread even if the secret becomes known.
/// Ranks that share the secret trust each other.
///   math    the key of a pair of ranks is HKDF-SHA256(secret, salt "sotto/1", info = identity),
///           its identity "job|client|server": each key has one client and one server, who
///           never change their roles (RFC 9257)
///   wire    TLS 1.3 (RFC 8446), TLS_AES_128_GCM_SHA256, psk_dhe_ke, no certificates, no tickets,
///           no early data; each side's key is renewed after 2^23 records, 128 GiB
///   cost    22 bytes for each 16 KiB, and a pass of AES-GCM at each end
///   errors  invalid_option: a secret that is too short, or a file that others may read;
///           io_failure: OpenSSL refuses
class pre_shared_key final : public detail::tcp_security {
public:
    static constexpr std::size_t secret_bytes_min = 32;  // of a secret, at least

    /// The content of a file that its owner alone may read, whole. A new one of 32 random bytes:
    ///   (umask 077; head -c 32 /dev/urandom > job.secret)
    /// A FIFO is read when the rank joins, within tcp_options::join, until its writer closes it.
    static std::shared_ptr<const detail::tcp_security> from_file(const std::string& path);

    /// The file that SOTTO_SECRET_FILE names, or else the text that SOTTO_SECRET holds.
    static std::shared_ptr<const detail::tcp_security> from_environment();

    /// For example 64 random hexadecimal digits. `where` they come from is named in errors.
    static std::shared_ptr<const detail::tcp_security> from_text(std::string_view text,
                                                                 const std::string& where);

    /// Reads the secret, if it is in a FIFO and was not read yet.
    ///   errors  invalid_option: it is too short or too long; error (timed_out): the writer has not
    ///           closed the FIFO within the limit; io_failure: the system refuses to read it
    void prepare(deadline& limit) const override;

    /// TLS over one connection to a peer.
    std::unique_ptr<detail::net::secure_session> connect(int handle, const std::string& job,
                                                         int own, int peer) const override;

    /// The same on the side that was connected to; `first` has been read already.
    std::unique_ptr<detail::net::secure_session> accept(int handle, const std::string& job, int own,
                                                        byte_view first) const override;

    /// A record of a handshake, not longer than a client's first one needs to be.
    bool may_begin_with(byte_view first) const noexcept override;

private:
    static constexpr std::size_t secret_bytes_max = 4096;

    using shared_secret = std::shared_ptr<const detail::net::job_secret>;

    static shared_secret checked(shared_secret secret, const std::string& where);

    static std::shared_ptr<const detail::tcp_security> made_of(shared_secret secret,
                                                               const std::string& where);

    /// Up to the end that a FIFO has once its writers have closed it.
    shared_secret read_fifo(deadline& limit) const;

    /// What a FIFO has now, where nothing was prepared.
    shared_secret secret() const;

    explicit pre_shared_key(shared_secret secret);
    pre_shared_key(sotto::detail::descriptor fifo, std::string where);

    std::shared_ptr<detail::net::tls_context> context_;
    std::string where_{};  // of the FIFO
    mutable std::mutex reading_;
    mutable sotto::detail::descriptor fifo_;
    mutable shared_secret secret_;
};

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/tcp_tls.ipp"
#endif
