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

/// The reason in an error of OpenSSL, as text.
std::string tls_cause(unsigned long code);
/// The same of the last error of this thread.
std::string tls_cause();

/// Why a session that was established failed.
enum class tls_failure : unsigned char {
    altered,          // a record that came is not as its sender wrote it
    altered_at_peer,  // the peer received such a record, and sent an alert
    other,            // memory ran out, here or at the peer, or it ended for a reason of its own
};

/// What an error of OpenSSL says of a session that was established. Of a record whose header was
/// changed, its type, version or length may be refused before its content is authenticated.
tls_failure tls_failure_of(unsigned long code) noexcept;

/// 32 bytes by HKDF-SHA256 (RFC 5869).
std::array<unsigned char, 32> hkdf(std::span<const unsigned char> secret, std::string_view salt,
                                   std::string_view info);

/// The secret of a job, as a value that is wiped.
struct job_secret {
    std::vector<unsigned char> bytes;
    job_secret() = default;
    job_secret(const job_secret&) = delete;
    job_secret& operator=(const job_secret&) = delete;
    ~job_secret();

    /// The identity that a client shows, and that its key is derived by. It goes in clear.
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

    /// Records that are written by one key before the next: half of what RFC 8446, 5.5, allows.
    std::uint64_t records_per_key = 1 << 23;
    std::uint64_t keys_renewed() const noexcept { return keys_renewed_; }

    // What the context calls

    /// A session that failed counts as one whose handshake never ended, so that is noted here.
    static void note_state(const SSL* ssl, int what, int) noexcept;

    static int offer(SSL* ssl, const EVP_MD*, const unsigned char** id, std::size_t* size,
                     SSL_SESSION** out) noexcept;

    static int find(SSL* ssl, const unsigned char* id, std::size_t size,
                    SSL_SESSION** out) noexcept;

private:
    static constexpr std::size_t record = 16384;

    /// OpenSSL leaves that to its user.
    void renew_key() noexcept;

    /// Up to a record of what is to be written, in one piece. What could not be written is asked
    /// for again with the same bytes, as OpenSSL wants it, and perhaps more behind them.
    byte_view next_record(std::span<const byte_view> from, std::size_t skip);

    /// Whether the other end has shown that it has the secret, not some certificate.
    bool is_proven() const noexcept { return SSL_session_reused(ssl_.get()) == 1; }

    static tls_session& of(const SSL* ssl) noexcept;

    /// The rank in an identity that is one of this job's, for a connection to this rank from
    /// another.
    std::optional<int> client_of(std::string_view shown) const;

    SSL_SESSION* session_for(std::string_view identity) noexcept;

    /// A session fails once: OpenSSL gives no reason in later calls.
    void note_error(int done) noexcept;

    void note_end(int done, moved& end);

    /// The session was established.
    void note_failure(moved& end) const;

    // Bytes that go to the system and come from it, without signals.

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
    std::uint64_t records_ = 0;  // written by this key, attempts among them
    std::uint64_t keys_renewed_ = 0;
    bool asks_again_ = false;      // the last write did not go through
    bool is_established_ = false;  // the handshake ended well
    bool ended_ = false;
    bool refused_ = false;
    unsigned long first_error_ = 0;  // of OpenSSL
    int broken_ = 0;
    std::unique_ptr<SSL, freed_by<SSL_free>> ssl_;
};

/// What the sessions of one secret have in common.
struct tls_context {
    tls_context();

    std::unique_ptr<SSL_CTX, freed_by<SSL_CTX_free>> of_openssl;
};

}  // namespace sotto::detail::net

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/detail/tls/tls_session.ipp"
#endif
