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

/// TLS 1.3 with a secret that all ranks of a job share. No other process can join, read messages,
/// or change a byte unnoticed. Recorded traffic stays unreadable even if the secret becomes known
/// later. Ranks that share the secret trust each other.
///   math    the key of a pair of ranks is HKDF-SHA256(secret, salt "sotto/1", info = identity).
///           Its identity is "job|client|server": each key has one client and one server, which
///           never change their roles (RFC 9257)
///   wire    TLS 1.3 (RFC 8446), TLS_AES_128_GCM_SHA256, psk_dhe_ke, no certificates, no tickets,
///           no early data; each side's key is renewed after 2^23 records, 128 GiB
///   cost    22 bytes for each 16 KiB, and a pass of AES-GCM at each end
///   errors  invalid_option: a secret that is too short, or a file that others may read;
///           io_failure: OpenSSL refuses
class pre_shared_key final : public detail::tcp_security {
public:
    static constexpr std::size_t secret_bytes_min = 32;  // minimum size of a secret

    /// Reads the secret from a whole file that only its owner may read. To make a new one of 32
    /// random bytes:
    ///   (umask 077; head -c 32 /dev/urandom > job.secret)
    /// A FIFO is read when the rank joins, within tcp_options::join, until its writer closes it.
    static std::shared_ptr<const detail::tcp_security> from_file(const std::string& path);

    /// Reads the secret from the file that SOTTO_SECRET_FILE names, or else from the text in
    /// SOTTO_SECRET.
    static std::shared_ptr<const detail::tcp_security> from_environment();

    /// Uses a text as the secret, for example 64 random hexadecimal digits. Errors name its origin
    /// `where`.
    static std::shared_ptr<const detail::tcp_security> from_text(std::string_view text,
                                                                 const std::string& where);

    /// Reads the secret if it is in a FIFO and was not read yet.
    ///   errors  invalid_option: it is too short or too long. error (timed_out): the writer has not
    ///           closed the FIFO within the limit. io_failure: the system refuses to read it
    void prepare(deadline& limit) const override;

    /// Starts TLS over one connection to a peer.
    std::unique_ptr<detail::net::secure_session> connect(int handle, const std::string& job,
                                                         int own, int peer) const override;

    /// The same on the accepting side; `first` has already been read.
    std::unique_ptr<detail::net::secure_session> accept(int handle, const std::string& job, int own,
                                                        byte_view first) const override;

    /// True if this is the start of a handshake record, and the record is not longer than a
    /// client's first one needs to be.
    bool may_begin_with(byte_view first) const noexcept override;

private:
    static constexpr std::size_t secret_bytes_max = 4096;

    using shared_secret = std::shared_ptr<const detail::net::job_secret>;

    static shared_secret checked(shared_secret secret, const std::string& where);

    static std::shared_ptr<const detail::tcp_security> made_of(shared_secret secret,
                                                               const std::string& where);

    /// Reads until all writers have closed the FIFO.
    shared_secret read_fifo(deadline& limit) const;

    /// The secret; without `prepare`, what the FIFO contains now.
    shared_secret secret() const;

    explicit pre_shared_key(shared_secret secret);
    pre_shared_key(sotto::detail::descriptor fifo, std::string where);

    std::shared_ptr<detail::net::tls_context> context_;
    std::string where_{};  // name of the FIFO
    mutable std::mutex reading_;
    mutable sotto::detail::descriptor fifo_;
    mutable shared_secret secret_;
};

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/tcp_tls.ipp"
#endif
