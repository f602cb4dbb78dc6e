#pragma once

#include "sotto/transports/detail/tls/tls_session.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <system_error>
#include <utility>

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>

#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"

namespace sotto::detail::net {

SOTTO_DECL std::string tls_cause(unsigned long code) {
    const char* const reason = ERR_reason_error_string(code);
    return reason ? reason : "no reason given";
}

SOTTO_DECL std::string tls_cause() {
    const unsigned long code = ERR_peek_last_error();
    ERR_clear_error();
    return tls_cause(code);
}

SOTTO_DECL tls_failure tls_failure_of(unsigned long code) noexcept {
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

SOTTO_DECL std::array<unsigned char, 32> hkdf(std::span<const unsigned char> secret,
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

SOTTO_DECL job_secret::~job_secret() {
    OPENSSL_cleanse(bytes.data(), bytes.size());
}

SOTTO_DECL std::string job_secret::identity(std::string_view job, int client, int server) {
    return std::string(job) + "|" + std::to_string(client) + "|" + std::to_string(server);
}

SOTTO_DECL std::array<unsigned char, 32> job_secret::key_of(std::string_view identity) const {
    return hkdf(bytes, "sotto/1", identity);
}

SOTTO_DECL tls_session::tls_session(SSL_CTX* context, std::shared_ptr<const job_secret> secret,
                                    int handle, std::string job, int own, std::optional<int> peer,
                                    byte_view first)
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
        // No certificate is valid: only the secret proves anything.
        SSL_set_verify(ssl_.get(), SSL_VERIFY_PEER, nullptr);
        SSL_set_connect_state(ssl_.get());
    } else {
        SSL_set_accept_state(ssl_.get());
    }
}

SOTTO_DECL moved tls_session::read(std::span<const mutable_byte_view> into) {
    moved all;
    for (const mutable_byte_view piece : into)
        for (std::size_t filled = 0; filled < piece.size();) {
            std::size_t count = 0;
            ERR_clear_error();
            const int done =
                SSL_read_ex(ssl_.get(), piece.data() + filled, piece.size() - filled, &count);
            note_error(done);
            if (done != 1 || !is_proven()) {
                // Return data from before the end first.
                if (all.bytes == 0) note_end(done, all);
                return all;
            }
            filled += count;
            all.bytes += count;
        }
    return all;
}

SOTTO_DECL moved tls_session::write(std::span<const byte_view> from) {
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
        for (skip += count; !from.empty() && skip >= from.front().size(); from = from.subspan(1))
            skip -= from.front().size();
    }
    return all;
}

SOTTO_DECL bool tls_session::write_waits_for_input() const noexcept {
    return SSL_want_read(ssl_.get()) && !SSL_is_init_finished(ssl_.get());
}

SOTTO_DECL void tls_session::note_state(const SSL* ssl, int what, int) noexcept {
    if ((what & SSL_CB_HANDSHAKE_DONE) != 0) of(ssl).is_established_ = true;
}

SOTTO_DECL int tls_session::offer(SSL* ssl, const EVP_MD*, const unsigned char** id,
                                  std::size_t* size, SSL_SESSION** out) noexcept {
    tls_session& self = of(ssl);
    *out = self.session_for(self.identity_);
    *id = reinterpret_cast<const unsigned char*>(self.identity_.data());
    *size = self.identity_.size();
    return *out != nullptr;
}

SOTTO_DECL int tls_session::find(SSL* ssl, const unsigned char* id, std::size_t size,
                                 SSL_SESSION** out) noexcept {
    tls_session& self = of(ssl);
    *out = nullptr;
    try {
        const std::string_view shown(reinterpret_cast<const char*>(id), size);
        const std::optional<int> rank = self.client_of(shown);
        if (!rank) return 1;  // the handshake continues without a key, and fails
        self.client_ = rank;
        *out = self.session_for(shown);
        return *out != nullptr;
    } catch (...) {
        return 0;
    }
}

SOTTO_DECL void tls_session::renew_key() noexcept {
    if (records_ < records_per_key || asks_again_ || !SSL_is_init_finished(ssl_.get())) return;
    if (SSL_key_update(ssl_.get(), SSL_KEY_UPDATE_NOT_REQUESTED) != 1) return;
    records_ = 0;
    ++keys_renewed_;
}

SOTTO_DECL byte_view tls_session::next_record(std::span<const byte_view> from, std::size_t skip) {
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

SOTTO_DECL tls_session& tls_session::of(const SSL* ssl) noexcept {
    return *static_cast<tls_session*>(SSL_get_app_data(ssl));
}

SOTTO_DECL std::optional<int> tls_session::client_of(std::string_view shown) const {
    if (!shown.starts_with(job_ + "|")) return std::nullopt;
    const char* const begin = shown.data() + job_.size() + 1;
    int rank = -1;
    const auto read = std::from_chars(begin, shown.data() + shown.size(), rank);
    if (read.ec != std::errc() || rank < 0 || rank == own_) return std::nullopt;
    if (shown != job_secret::identity(job_, rank, own_)) return std::nullopt;
    return rank;
}

SOTTO_DECL SSL_SESSION* tls_session::session_for(std::string_view identity) noexcept {
    try {
        auto key = secret_->key_of(identity);
        constexpr unsigned char aes_128_gcm_sha256[] = {0x13, 0x01};
        std::unique_ptr<SSL_SESSION, freed_by<SSL_SESSION_free>> made(SSL_SESSION_new());
        const bool good =
            made && SSL_SESSION_set1_master_key(made.get(), key.data(), key.size()) == 1 &&
            SSL_SESSION_set_cipher(made.get(), SSL_CIPHER_find(ssl_.get(), aes_128_gcm_sha256)) ==
                1 &&
            SSL_SESSION_set_protocol_version(made.get(), TLS1_3_VERSION) == 1;
        OPENSSL_cleanse(key.data(), key.size());
        return good ? made.release() : nullptr;
    } catch (...) {
        return nullptr;
    }
}

SOTTO_DECL void tls_session::note_error(int done) noexcept {
    if (done != 1 && first_error_ == 0 && SSL_get_error(ssl_.get(), done) == SSL_ERROR_SSL)
        first_error_ = ERR_peek_last_error();
}

SOTTO_DECL void tls_session::note_end(int done, moved& end) {
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
                end.why = is_established_ ? "it closed the connection"
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

SOTTO_DECL void tls_session::note_failure(moved& end) const {
    const tls_failure kind = tls_failure_of(first_error_);
    const std::string cause = "TLS: " + tls_cause(first_error_);
    if (kind == tls_failure::other) {
        end.why = "the connection failed (" + cause + ")";
        return;
    }
    end.altered = kind == tls_failure::altered;  // otherwise the peer reports it to all ranks
    end.why = std::string("authentication of the data that ") +
              (end.altered ? "it sent" : "it received") +
              " failed: bytes were changed on the way (" + cause + ")";
}

SOTTO_DECL BIO_METHOD* tls_session::method() {
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

SOTTO_DECL int tls_session::pull(BIO* bio, char* to, int size) noexcept {
    tls_session& self = *static_cast<tls_session*>(BIO_get_data(bio));
    BIO_clear_retry_flags(bio);
    if (!self.first_.empty()) {
        const std::size_t count = (std::min)(self.first_.size(), static_cast<std::size_t>(size));
        std::memcpy(to, self.first_.data(), count);
        self.first_.erase(self.first_.begin(),
                          self.first_.begin() + static_cast<std::ptrdiff_t>(count));
        return static_cast<int>(count);
    }
    const auto got = ::recv(self.handle_, to, static_cast<std::size_t>(size), 0);
    if (got == 0) self.ended_ = true;
    return self.outcome(bio, static_cast<int>(got), BIO_set_retry_read_of);
}

SOTTO_DECL int tls_session::push(BIO* bio, const char* from, int size) noexcept {
    tls_session& self = *static_cast<tls_session*>(BIO_get_data(bio));
    BIO_clear_retry_flags(bio);
    const auto sent = ::send(self.handle_, from, static_cast<std::size_t>(size), MSG_NOSIGNAL);
    return self.outcome(bio, static_cast<int>(sent), BIO_set_retry_write_of);
}

SOTTO_DECL int tls_session::outcome(BIO* bio, int count, void (*again)(BIO*) noexcept) noexcept {
    if (count >= 0) return count;
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)
        again(bio);
    else
        broken_ = errno;
    return -1;
}

SOTTO_DECL tls_context::tls_context() : of_openssl(SSL_CTX_new(TLS_method())) {
    SSL_CTX* const c = of_openssl.get();
    if (!c || SSL_CTX_set_min_proto_version(c, TLS1_3_VERSION) != 1 ||
        SSL_CTX_set_max_proto_version(c, TLS1_3_VERSION) != 1 ||
        SSL_CTX_set_ciphersuites(c, "TLS_AES_128_GCM_SHA256") != 1 ||
        SSL_CTX_set_num_tickets(c, 0) != 1)
        throw io_failure("tls: OpenSSL has no TLS 1.3: " + tls_cause());
    SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_mode(c, SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_read_ahead(c, 1);
    SSL_CTX_set_default_read_buffer_len(c, 65536);
    SSL_CTX_set_psk_use_session_callback(c, tls_session::offer);
    SSL_CTX_set_psk_find_session_callback(c, tls_session::find);
}

}  // namespace sotto::detail::net
