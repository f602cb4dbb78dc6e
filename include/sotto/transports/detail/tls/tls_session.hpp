#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <openssl/bio.h>
#include <openssl/ssl.h>

#include "sotto/core/bytes.hpp"
#include "sotto/transports/detail/tcp/tcp_security.hpp"

namespace sotto::detail::net {

template <auto Free>
struct freed_by {
    template <class Object>
    void operator()(Object* object) const noexcept {
        Free(object);
    }
};

/// Reason in an error of OpenSSL, as text.
std::string tls_cause(unsigned long code);
/// The same for the last error of this thread.
std::string tls_cause();

/// Why an established session failed.
enum class tls_failure : unsigned char {
    altered,          // a received record differs from what its sender wrote
    altered_at_peer,  // the peer received such a record, and sent an alert
    other,            //   memory  ran out, here or at the peer, or it ended for a reason of its own
};

/// Kind of failure of an established session, from an error of OpenSSL. A record with a changed
/// header may be refused by its type, version or length before its content is authenticated.
tls_failure tls_failure_of(unsigned long code) noexcept;

/// 32 bytes by HKDF-SHA256 (RFC 5869).
std::array<unsigned char, 32> hkdf(std::span<const unsigned char> secret, std::string_view salt,
                                   std::string_view info);

/// Secret of a job, wiped when it is destroyed.
struct job_secret {
    std::vector<unsigned char> bytes;
    job_secret() = default;
    job_secret(const job_secret&) = delete;
    job_secret& operator=(const job_secret&) = delete;
    ~job_secret();

    /// Identity that a client shows, and from which its key is derived. It is sent unencrypted.
    static std::string identity(std::string_view job, int client, int server);
    std::array<unsigned char, 32> key_of(std::string_view identity) const;
};

/// TLS over one connection.
class tls_session final : public secure_session {
public:
    tls_session(SSL_CTX* context, std::shared_ptr<const job_secret> secret, int handle,
                std::string job, int own, std::optional<int> peer, byte_view first);

    moved read(std::span<const mutable_byte_view> into) override;

    moved write(std::span<const byte_view> from) override;

    bool write_waits_for_input() const noexcept override;

    bool is_refused() const noexcept override { return refused_; }
    std::optional<int> client() const noexcept override { return client_; }

    /// Records written with one key: half of what RFC 8446, 5.5, allows.
    std::uint64_t records_per_key = 1 << 23;
    std::uint64_t keys_renewed() const noexcept { return keys_renewed_; }

    // Callbacks of the context

    /// Notes that a handshake ended well: a session that failed later counts as one whose handshake
    /// never ended.
    static void note_state(const SSL* ssl, int what, int) noexcept;

    static int offer(SSL* ssl, const EVP_MD*, const unsigned char** id, std::size_t* size,
                     SSL_SESSION** out) noexcept;

    static int find(SSL* ssl, const unsigned char* id, std::size_t size,
                    SSL_SESSION** out) noexcept;

private:
    static constexpr std::size_t record = 16384;

    /// Renews the key, which OpenSSL leaves to its user.
    void renew_key() noexcept;

    /// Up to one record of the data to write, in one piece. After a failed write it starts with the
    /// same bytes, as OpenSSL requires, perhaps with more behind them.
    byte_view next_record(std::span<const byte_view> from, std::size_t skip);

    /// True if the other end has proven that it has the secret, and not some certificate.
    bool is_proven() const noexcept { return SSL_session_reused(ssl_.get()) == 1; }

    static tls_session& of(const SSL* ssl) noexcept;

    /// Rank in an identity of this job, for a connection from another rank to this one.
    std::optional<int> client_of(std::string_view shown) const;

    SSL_SESSION* session_for(std::string_view identity) noexcept;

    /// Notes the first error only: OpenSSL gives no reason in later calls.
    void note_error(int done) noexcept;

    void note_end(int done, moved& end);

    /// Requires that the session was established.
    void note_failure(moved& end) const;

    // Bytes to and from the system, without signals.

    static BIO_METHOD* method();

    static int pull(BIO* bio, char* to, int size) noexcept;

    static int push(BIO* bio, const char* from, int size) noexcept;

    static void BIO_set_retry_read_of(BIO* bio) noexcept { BIO_set_retry_read(bio); }
    static void BIO_set_retry_write_of(BIO* bio) noexcept { BIO_set_retry_write(bio); }

    int outcome(BIO* bio, int count, void (*again)(BIO*) noexcept) noexcept;

    static long control(BIO*, int what, long, void*) noexcept { return what == BIO_CTRL_FLUSH; }

    std::shared_ptr<const job_secret> secret_;
    int handle_;
    std::string job_;
    int own_;
    bytes first_;  // read before the session began
    bytes gathered_;
    std::string identity_;
    std::optional<int> client_;
    std::uint64_t records_ = 0;  // written with this key, including attempts
    std::uint64_t keys_renewed_ = 0;
    bool asks_again_ = false;      // the last write failed and must be repeated
    bool is_established_ = false;  // the handshake ended well
    bool ended_ = false;
    bool refused_ = false;
    unsigned long first_error_ = 0;  // error code of OpenSSL
    int broken_ = 0;
    std::unique_ptr<SSL, freed_by<SSL_free>> ssl_;
};

/// State that the sessions of one secret share.
struct tls_context {
    tls_context();

    std::unique_ptr<SSL_CTX, freed_by<SSL_CTX_free>> of_openssl;
};

}  // namespace sotto::detail::net

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/detail/tls/tls_session.ipp"
#endif
