#include "sotto/transports/detail/tls/tls_session.hpp"

#include <doctest/doctest.h>
#include <openssl/err.h>

#include <array>
#include <string>
#include <vector>

using namespace sotto;
using namespace sotto::detail::net;

TEST_CASE("keys are derived as RFC 5869 says, by its first example") {
    const std::vector<unsigned char> secret(22, 0x0b);
    std::string salt, info;
    for (char c = 0; c <= 0x0c; ++c) salt.push_back(c);
    for (int c = 0xf0; c <= 0xf9; ++c) info.push_back(static_cast<char>(c));
    const std::array<unsigned char, 32> expected{0x3c, 0xb2, 0x5f, 0x25, 0xfa, 0xac, 0xd5, 0x7a,
                                                 0x90, 0x43, 0x4f, 0x64, 0xd0, 0x36, 0x2f, 0x2a,
                                                 0x2d, 0x2d, 0x0a, 0x90, 0xcf, 0x1a, 0x5a, 0x4c,
                                                 0x5d, 0xb0, 0x2d, 0x56, 0xec, 0xc4, 0xc5, 0xbf};
    CHECK(hkdf(secret, salt, info) == expected);
}

TEST_CASE("tls: other failures of a session -> not reported as changed bytes") {
    const auto kind_of = [](int reason) {
        return tls_failure_of(ERR_PACK(ERR_LIB_SSL, 0, static_cast<unsigned long>(reason)));
    };
    const auto kind_of_alert = [&](int alert) { return kind_of(SSL_AD_REASON_OFFSET + alert); };
    CHECK(kind_of(SSL_R_DECRYPTION_FAILED_OR_BAD_RECORD_MAC) == tls_failure::altered);
    CHECK(kind_of_alert(SSL_AD_BAD_RECORD_MAC) == tls_failure::altered_at_peer);
    CHECK(kind_of_alert(SSL_AD_DECRYPT_ERROR) == tls_failure::altered_at_peer);
    for (const int alert : {SSL_AD_INTERNAL_ERROR, SSL_AD_USER_CANCELLED, SSL_AD_ACCESS_DENIED,
                            SSL_AD_HANDSHAKE_FAILURE, SSL_AD_INSUFFICIENT_SECURITY})
        CHECK(kind_of_alert(alert) == tls_failure::other);
    CHECK(kind_of(ERR_R_MALLOC_FAILURE) == tls_failure::other);
    CHECK(tls_failure_of(ERR_PACK(ERR_LIB_EVP, 0, 100)) == tls_failure::other);
    CHECK(tls_failure_of(0) == tls_failure::other);
}
