#pragma once

#include "sotto/transports/detail/tcp/tcp_security.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/ssl.h>

#include "sotto/core/bytes.hpp"
#include "sotto/core/clock.hpp"
#include "sotto/core/deadline.hpp"
#include "sotto/core/detail/files/descriptor.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/detail/files/input_file.hpp"

namespace sotto::detail::net {

template <auto Free>
struct freed_by {
    template <class Object>
    void operator()(Object* object) const noexcept {
        Free(object);
    }
};

/// The reason in an error of OpenSSL, as text.
inline std::string tls_cause(unsigned long code) {
    const char* const reason = ERR_reason_error_string(code);
    return reason ? reason : "no reason given";
}
/// The same of the last error of this thread.
inline std::string tls_cause() {
    const unsigned long code = ERR_peek_last_error();
    ERR_clear_error();
    return tls_cause(code);
}

/// Why a session that was established failed.
enum class tls_failure : unsigned char {
    altered,          // a record that came is not as its sender wrote it
    altered_at_peer,  // the peer received such a record, and sent an alert
    other,            // memory ran out, here or at the peer, or it ended for a reason of its own
};

/// What an error of OpenSSL says of a session that was established. Of a record whose header was
/// changed, its type, version or length may be refused before its content is authenticated.
inline tls_failure tls_failure_of(unsigned long code) noexcept {
    if (ERR_GET_LIB(code) != ERR_LIB_SSL) return tls_failure::other;
    switch (ERR_GET_REASON(code)) {
        case SSL_R_DECRYPTION_FAILED_OR_BAD_RECORD_MAC:
        case SSL_R_BAD_RECORD_TYPE:
        case SSL_R_WRONG_VERSION_NUMBER:
        case SSL_R_PACKET_LENGTH_TOO_LONG:
        case SSL_R_ENCRYPTED_LENGTH_TOO_LONG:
        case SSL_R_LENGTH_TOO_SHORT: return tls_failure::altered;
        case SSL_AD_REASON_OFFSET + SSL_AD_UNEXPECTED_MESSAGE:
        case SSL_AD_REASON_OFFSET + SSL_AD_BAD_RECORD_MAC:
        case SSL_AD_REASON_OFFSET + SSL_AD_RECORD_OVERFLOW:
        case SSL_AD_REASON_OFFSET + SSL_AD_DECODE_ERROR:
        case SSL_AD_REASON_OFFSET + SSL_AD_DECRYPT_ERROR:
        case SSL_AD_REASON_OFFSET + SSL_AD_PROTOCOL_VERSION: return tls_failure::altered_at_peer;
        default: return tls_failure::other;
    }
}

/// 32 bytes by HKDF-SHA256 (RFC 5869).
inline std::array<unsigned char, 32> hkdf(std::span<const unsigned char> secret,
                                          std::string_view salt, std::string_view info) {
    const auto text = [](std::string_view of) {
        return reinterpret_cast<const unsigned char*>(of.data());
    };
    const std::unique_ptr<EVP_PKEY_CTX, freed_by<EVP_PKEY_CTX_free>> by(
        EVP_PKEY_CTX_new_id(EVP_PKEY_HKDF, nullptr));
    std::array<unsigned char, 32> key{};
    std::size_t size = key.size();
    if (!by || EVP_PKEY_derive_init(by.get()) <= 0 ||
        EVP_PKEY_CTX_set_hkdf_md(by.get(), EVP_sha256()) <= 0 ||
        EVP_PKEY_CTX_set1_hkdf_salt(by.get(), text(salt), static_cast<int>(salt.size())) <= 0 ||
        EVP_PKEY_CTX_set1_hkdf_key(by.get(), secret.data(), static_cast<int>(secret.size())) <= 0 ||
        EVP_PKEY_CTX_add1_hkdf_info(by.get(), text(info), static_cast<int>(info.size())) <= 0 ||
        EVP_PKEY_derive(by.get(), key.data(), &size) <= 0)
        throw io_failure("tls: no key could be derived: " + tls_cause());
    return key;
}

/// The secret of a job, as a value that is wiped.
struct job_secret {
    std::vector<unsigned char> bytes;
    job_secret() = default;
    job_secret(const job_secret&) = delete;
    job_secret& operator=(const job_secret&) = delete;
    ~job_secret() { OPENSSL_cleanse(bytes.data(), bytes.size()); }

    /// The identity that a client shows, and that its key is derived by. It goes in clear.
    static std::string identity(std::string_view job, int client, int server) {
        return std::string(job) + "|" + std::to_string(client) + "|" + std::to_string(server);
    }
    std::array<unsigned char, 32> key_of(std::string_view identity) const {
        return hkdf(bytes, "sotto/1", identity);
    }
};

/// TLS over one connection.
class tls_session final : public secure_session {
public:
    tls_session(SSL_CTX* context, std::shared_ptr<const job_secret> secret, int handle,
                std::string job, int own, std::optional<int> peer, byte_view first)
        : secret_(std::move(secret)),
          handle_(handle),
          job_(std::move(job)),
          own_(own),
          first_(first.begin(), first.end()),
          ssl_(SSL_new(context)) {
        BIO* const bio = ssl_ ? BIO_new(method()) : nullptr;
        if (!bio) throw io_failure("tls: no session: " + tls_cause());
        BIO_set_data(bio, this);
        BIO_set_init(bio, 1);
        SSL_set_bio(ssl_.get(), bio, bio);
        SSL_set_app_data(ssl_.get(), this);
        SSL_set_info_callback(ssl_.get(), note_state);
        if (peer) {
            identity_ = job_secret::identity(job_, own_, *peer);
            // No certificate is ever good: only the secret proves anything.
            SSL_set_verify(ssl_.get(), SSL_VERIFY_PEER, nullptr);
            SSL_set_connect_state(ssl_.get());
        } else {
            SSL_set_accept_state(ssl_.get());
        }
    }

    moved read(std::span<const mutable_byte_view> into) override {
        moved all;
        for (const mutable_byte_view piece : into)
            for (std::size_t filled = 0; filled < piece.size();) {
                std::size_t count = 0;
                ERR_clear_error();
                const int done =
                    SSL_read_ex(ssl_.get(), piece.data() + filled, piece.size() - filled, &count);
                note_error(done);
                if (done != 1 || !is_proven()) {
                    // What came before the end is handed out first.
                    if (all.bytes == 0) note_end(done, all);
                    return all;
                }
                filled += count;
                all.bytes += count;
            }
        return all;
    }

    moved write(std::span<const byte_view> from) override {
        moved all;
        for (std::size_t skip = 0; !from.empty();) {
            const byte_view next = next_record(from, skip);
            if (next.empty()) break;
            renew_key();
            std::size_t count = 0;
            ERR_clear_error();
            const int done = SSL_write_ex(ssl_.get(), next.data(), next.size(), &count);
            note_error(done);
            asks_again_ = done != 1;
            ++records_;
            if (done != 1 || !is_proven()) {
                if (all.bytes == 0) note_end(done, all);
                break;
            }
            all.bytes += count;
            for (skip += count; !from.empty() && skip >= from.front().size();
                 from = from.subspan(1))
                skip -= from.front().size();
        }
        return all;
    }

    bool write_waits_for_input() const noexcept override {
        return SSL_want_read(ssl_.get()) && !SSL_is_init_finished(ssl_.get());
    }

    bool is_refused() const noexcept override { return refused_; }
    std::optional<int> client() const noexcept override { return client_; }

    /// Records that are written by one key before the next: half of what RFC 8446, 5.5, allows.
    std::uint64_t records_per_key = 1 << 23;
    std::uint64_t keys_renewed() const noexcept { return keys_renewed_; }

    // What the context calls

    /// A session that failed counts as one whose handshake never ended, so that is noted here.
    static void note_state(const SSL* ssl, int what, int) noexcept {
        if ((what & SSL_CB_HANDSHAKE_DONE) != 0) of(ssl).is_established_ = true;
    }

    static int offer(SSL* ssl, const EVP_MD*, const unsigned char** id, std::size_t* size,
                     SSL_SESSION** out) noexcept {
        tls_session& self = of(ssl);
        *out = self.session_for(self.identity_);
        *id = reinterpret_cast<const unsigned char*>(self.identity_.data());
        *size = self.identity_.size();
        return *out != nullptr;
    }

    static int find(SSL* ssl, const unsigned char* id, std::size_t size,
                    SSL_SESSION** out) noexcept {
        tls_session& self = of(ssl);
        *out = nullptr;
        try {
            const std::string_view shown(reinterpret_cast<const char*>(id), size);
            const std::optional<int> rank = self.client_of(shown);
            if (!rank) return 1;  // the handshake goes on without a key, and fails
            self.client_ = rank;
            *out = self.session_for(shown);
            return *out != nullptr;
        } catch (...) {
            return 0;
        }
    }

private:
    static constexpr std::size_t record = 16384;

    /// OpenSSL leaves that to whoever uses it.
    void renew_key() noexcept {
        if (records_ < records_per_key || asks_again_ || !SSL_is_init_finished(ssl_.get())) return;
        if (SSL_key_update(ssl_.get(), SSL_KEY_UPDATE_NOT_REQUESTED) != 1) return;
        records_ = 0;
        ++keys_renewed_;
    }

    /// Up to a record of what is to be written, in one piece. What could not be written is asked
    /// for again with the same bytes, as OpenSSL wants it, and perhaps more behind them.
    byte_view next_record(std::span<const byte_view> from, std::size_t skip) {
        if (const byte_view piece = from.front().subspan(skip); piece.size() >= record)
            return piece.first(record);
        gathered_.clear();
        for (const byte_view piece : from) {
            const byte_view rest = piece.subspan(std::exchange(skip, 0));
            const byte_view part = rest.first((std::min)(rest.size(), record - gathered_.size()));
            gathered_.insert(gathered_.end(), part.begin(), part.end());
        }
        return gathered_;
    }

    /// Whether the other end has shown that it has the secret, not some certificate.
    bool is_proven() const noexcept { return SSL_session_reused(ssl_.get()) == 1; }

    static tls_session& of(const SSL* ssl) noexcept {
        return *static_cast<tls_session*>(SSL_get_app_data(ssl));
    }

    /// The rank in an identity that is one of this job's, for a connection to this rank from
    /// another.
    std::optional<int> client_of(std::string_view shown) const {
        if (!shown.starts_with(job_ + "|")) return std::nullopt;
        const char* const begin = shown.data() + job_.size() + 1;
        int rank = -1;
        const auto read = std::from_chars(begin, shown.data() + shown.size(), rank);
        if (read.ec != std::errc() || rank < 0 || rank == own_) return std::nullopt;
        if (shown != job_secret::identity(job_, rank, own_)) return std::nullopt;
        return rank;
    }

    SSL_SESSION* session_for(std::string_view identity) noexcept {
        try {
            auto key = secret_->key_of(identity);
            constexpr unsigned char aes_128_gcm_sha256[] = {0x13, 0x01};
            std::unique_ptr<SSL_SESSION, freed_by<SSL_SESSION_free>> made(SSL_SESSION_new());
            const bool good =
                made && SSL_SESSION_set1_master_key(made.get(), key.data(), key.size()) == 1 &&
                SSL_SESSION_set_cipher(made.get(),
                                       SSL_CIPHER_find(ssl_.get(), aes_128_gcm_sha256)) == 1 &&
                SSL_SESSION_set_protocol_version(made.get(), TLS1_3_VERSION) == 1;
            OPENSSL_cleanse(key.data(), key.size());
            return good ? made.release() : nullptr;
        } catch (...) {
            return nullptr;
        }
    }

    /// A session fails once: OpenSSL gives no reason in later calls.
    void note_error(int done) noexcept {
        if (done != 1 && first_error_ == 0 && SSL_get_error(ssl_.get(), done) == SSL_ERROR_SSL)
            first_error_ = ERR_peek_last_error();
    }

    void note_end(int done, moved& end) {
        end.closed = true;
        if (done == 1) {
            refused_ = true;
            end.why = "it has not the secret of the job";
            return;
        }
        switch (SSL_get_error(ssl_.get(), done)) {
            case SSL_ERROR_WANT_READ:
            case SSL_ERROR_WANT_WRITE: end.closed = false; return;
            case SSL_ERROR_ZERO_RETURN: end.why = "it closed the connection"; break;
            default:
                if (broken_ != 0)
                    end.why = "the connection broke: " + std::system_category().message(broken_);
                else if (ended_)
                    end.why = is_established_
                                  ? "it closed the connection"
                                  : "it closed the connection while the secret was proven";
                else if (is_established_)
                    note_failure(end);
                else {
                    refused_ = true;
                    end.why = "no secret was proven: " + tls_cause();
                }
        }
        ERR_clear_error();
    }

    /// The session was established.
    void note_failure(moved& end) const {
        const tls_failure kind = tls_failure_of(first_error_);
        const std::string cause = "TLS: " + tls_cause(first_error_);
        if (kind == tls_failure::other) {
            end.why = "the connection failed (" + cause + ")";
            return;
        }
        end.altered = kind == tls_failure::altered;  // else the peer reports it to all
        end.why = std::string("authentication of the data that ") +
                  (end.altered ? "it sent" : "it received") +
                  " failed: bytes were changed on the way (" + cause + ")";
    }

    // Bytes that go to the system and come from it, without signals.

    static BIO_METHOD* method() {
        static const std::unique_ptr<BIO_METHOD, freed_by<BIO_meth_free>> made = [] {
            std::unique_ptr<BIO_METHOD, freed_by<BIO_meth_free>> m(
                BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "sotto"));
            if (m) {
                BIO_meth_set_read(m.get(), pull);
                BIO_meth_set_write(m.get(), push);
                BIO_meth_set_ctrl(m.get(), control);
            }
            return m;
        }();
        return made.get();
    }

    static int pull(BIO* bio, char* to, int size) noexcept {
        tls_session& self = *static_cast<tls_session*>(BIO_get_data(bio));
        BIO_clear_retry_flags(bio);
        if (!self.first_.empty()) {
            const std::size_t count =
                (std::min)(self.first_.size(), static_cast<std::size_t>(size));
            std::memcpy(to, self.first_.data(), count);
            self.first_.erase(self.first_.begin(),
                              self.first_.begin() + static_cast<std::ptrdiff_t>(count));
            return static_cast<int>(count);
        }
        const auto got = ::recv(self.handle_, to, static_cast<std::size_t>(size), 0);
        if (got == 0) self.ended_ = true;
        return self.outcome(bio, static_cast<int>(got), BIO_set_retry_read_of);
    }

    static int push(BIO* bio, const char* from, int size) noexcept {
        tls_session& self = *static_cast<tls_session*>(BIO_get_data(bio));
        BIO_clear_retry_flags(bio);
        const auto sent = ::send(self.handle_, from, static_cast<std::size_t>(size), MSG_NOSIGNAL);
        return self.outcome(bio, static_cast<int>(sent), BIO_set_retry_write_of);
    }

    static void BIO_set_retry_read_of(BIO* bio) noexcept { BIO_set_retry_read(bio); }
    static void BIO_set_retry_write_of(BIO* bio) noexcept { BIO_set_retry_write(bio); }

    int outcome(BIO* bio, int count, void (*again)(BIO*) noexcept) noexcept {
        if (count >= 0) return count;
        if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)
            again(bio);
        else
            broken_ = errno;
        return -1;
    }

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

}  // namespace sotto::detail::net

namespace sotto {

/// TLS 1.3 by a secret that all ranks of a job share: nobody else takes part, reads along, or
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
    static std::shared_ptr<const detail::tcp_security> from_file(
        const std::filesystem::path& path) {
        const std::string where = path.string();
        const auto refuse = [&](const std::string& what) {
            throw invalid_option("tls: the secret in " + where + " " + what);
        };
        const auto require = [&](std::error_code why) {
            if (why) refuse("cannot be read: " + why.message());
        };
        std::error_code why;
        struct ::stat is = sotto::detail::facts_of_path(path.c_str(), why);
        const auto require_kind = [&] {
            why = sotto::detail::why_not_regular(is);
            require(why == sotto::detail::file_fault::is_fifo ? std::error_code() : why);
        };
        require(why);
        require_kind();  // opening a device may have effects
        sotto::detail::descriptor file =
            sotto::detail::open_file(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY);
        if (!file || ::fstat(file.handle(), &is) != 0) require(sotto::detail::system_reason());
        require_kind();
        if ((is.st_mode & (S_IRWXG | S_IRWXO)) != 0)
            refuse("may be read or changed by others than its owner: chmod 600");
        if (S_ISFIFO(is.st_mode))
            return std::shared_ptr<const detail::tcp_security>(
                new pre_shared_key(std::move(file), where));
        const auto secret = std::make_shared<detail::net::job_secret>();
        secret->bytes.resize(secret_bytes_max + 1);
        std::size_t size = 0;
        while (size < secret->bytes.size()) {
            const auto count = sotto::detail::uninterrupted([&] {
                return ::read(file.handle(), secret->bytes.data() + size,
                              secret->bytes.size() - size);
            });
            if (count < 0) require(sotto::detail::system_reason());
            if (count == 0) break;
            size += static_cast<std::size_t>(count);
        }
        secret->bytes.resize(size);
        return made_of(secret, where);
    }

    /// The file that SOTTO_SECRET_FILE names, or else the text that SOTTO_SECRET holds.
    static std::shared_ptr<const detail::tcp_security> from_environment() {
        if (const char* const path = std::getenv("SOTTO_SECRET_FILE")) return from_file(path);
        if (const char* const text = std::getenv("SOTTO_SECRET"))
            return from_text(text, "SOTTO_SECRET");
        throw invalid_option(
            "tls: neither SOTTO_SECRET_FILE nor SOTTO_SECRET is set; one of them tells the secret "
            "of the job");
    }

    /// For example 64 random hexadecimal digits. `where` they come from is named in errors.
    static std::shared_ptr<const detail::tcp_security> from_text(std::string_view text,
                                                                 const std::string& where) {
        const auto secret = std::make_shared<detail::net::job_secret>();
        secret->bytes.assign(text.begin(), text.end());
        return made_of(secret, where);
    }

    /// Reads the secret, if it is in a FIFO and was not read yet.
    ///   errors  invalid_option: it is too short or too long; error (timed_out): the writer has not
    ///           closed the FIFO within the limit; io_failure: the system refuses to read it
    void prepare(deadline& limit) const override {
        const std::lock_guard lock(reading_);
        if (secret_) return;
        secret_ = checked(read_fifo(limit), where_);
        fifo_.close();
    }

    /// TLS over one connection to a peer.
    std::unique_ptr<detail::net::secure_session> connect(int handle, const std::string& job,
                                                         int own, int peer) const override {
        return std::make_unique<detail::net::tls_session>(context_.get(), secret(), handle, job,
                                                          own, peer, byte_view());
    }

    /// The same on the side that was connected to; `first` has been read already.
    std::unique_ptr<detail::net::secure_session> accept(int handle, const std::string& job, int own,
                                                        byte_view first) const override {
        return std::make_unique<detail::net::tls_session>(context_.get(), secret(), handle, job,
                                                          own, std::nullopt, first);
    }

    /// A record of a handshake, not longer than a client's first one needs to be.
    bool may_begin_with(byte_view first) const noexcept override {
        constexpr std::byte handshake{22}, version{3};
        const unsigned size =
            std::to_integer<unsigned>(first[3]) << 8 | std::to_integer<unsigned>(first[4]);
        return first[0] == handshake && first[1] == version && size <= 2048;
    }

private:
    static constexpr std::size_t secret_bytes_max = 4096;

    using shared_secret = std::shared_ptr<const detail::net::job_secret>;

    static shared_secret checked(shared_secret secret, const std::string& where) {
        if (secret->bytes.size() < secret_bytes_min || secret->bytes.size() > secret_bytes_max)
            throw invalid_option("tls: the secret in " + where + " has " +
                                 (secret->bytes.size() > secret_bytes_max
                                      ? "more than 4096"
                                      : std::to_string(secret->bytes.size())) +
                                 " bytes; 32 to 4096 random ones are needed, since a short one can "
                                 "be guessed");
        return secret;
    }

    static std::shared_ptr<const detail::tcp_security> made_of(shared_secret secret,
                                                               const std::string& where) {
        return std::shared_ptr<const detail::tcp_security>(
            new pre_shared_key(checked(std::move(secret), where)));
    }

    /// Up to the end that a FIFO has once its writers have closed it.
    shared_secret read_fifo(deadline& limit) const {
        const auto secret = std::make_shared<detail::net::job_secret>();
        secret->bytes.resize(secret_bytes_max + 1);
        std::size_t size = 0;
        const auto cannot_read = [&] {
            throw io_failure("tls: the secret in " + where_ +
                             " cannot be read: " + sotto::detail::system_reason().message());
        };
        while (size < secret->bytes.size()) {
            const time_point now = std::chrono::steady_clock::now();
            const bool is_late = limit.passed(now);
            const auto left =
                std::chrono::ceil<std::chrono::milliseconds>(limit.next_look() - now).count();
            // A FIFO that had no writer yet is not ready, though reading it would find its end.
            ::pollfd ready{fifo_.handle(), POLLIN, 0};
            const int found = ::poll(&ready, 1, is_late ? 0 : static_cast<int>(left));
            if (found < 0 && errno != EINTR) cannot_read();
            if (found == 0 && is_late)
                throw error(errc::timed_out, "tls: the secret in " + where_ +
                                                 ", a FIFO, has no end after the time "
                                                 "to join (tcp_options::join): found " +
                                                 std::to_string(size) +
                                                 " bytes; write the secret and close the FIFO");
            if (found <= 0) continue;
            const auto count =
                ::read(fifo_.handle(), secret->bytes.data() + size, secret->bytes.size() - size);
            if (count == 0) break;
            if (count > 0)
                size += static_cast<std::size_t>(count);
            else if (errno != EINTR && errno != EAGAIN)
                cannot_read();
        }
        secret->bytes.resize(size);
        return secret;
    }

    /// What a FIFO has now, where nothing was prepared.
    shared_secret secret() const {
        deadline at_once(std::chrono::steady_clock::now(), duration::zero());
        prepare(at_once);
        return secret_;
    }

    explicit pre_shared_key(shared_secret secret) : secret_(std::move(secret)) { set_up(); }
    pre_shared_key(sotto::detail::descriptor fifo, std::string where)
        : where_(std::move(where)), fifo_(std::move(fifo)) {
        set_up();
    }

    void set_up() {
        SSL_CTX* const c = context_.get();
        if (!c || SSL_CTX_set_min_proto_version(c, TLS1_3_VERSION) != 1 ||
            SSL_CTX_set_max_proto_version(c, TLS1_3_VERSION) != 1 ||
            SSL_CTX_set_ciphersuites(c, "TLS_AES_128_GCM_SHA256") != 1 ||
            SSL_CTX_set_num_tickets(c, 0) != 1)
            throw io_failure("tls: OpenSSL has no TLS 1.3: " + detail::net::tls_cause());
        SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);
        SSL_CTX_set_mode(c, SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
        SSL_CTX_set_read_ahead(c, 1);
        SSL_CTX_set_default_read_buffer_len(c, 65536);
        SSL_CTX_set_psk_use_session_callback(c, detail::net::tls_session::offer);
        SSL_CTX_set_psk_find_session_callback(c, detail::net::tls_session::find);
    }

    std::unique_ptr<SSL_CTX, detail::net::freed_by<SSL_CTX_free>> context_{
        SSL_CTX_new(TLS_method())};
    std::string where_{};  // of the FIFO
    mutable std::mutex reading_;
    mutable sotto::detail::descriptor fifo_;
    mutable shared_secret secret_;
};

}  // namespace sotto
