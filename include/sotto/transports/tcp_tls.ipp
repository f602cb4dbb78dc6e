#pragma once

#include "sotto/transports/tcp_tls.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <system_error>
#include <utility>

#include "sotto/core/clock.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/detail/files/file_kind.hpp"
#include "sotto/core/detail/files/input_file.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/transports/detail/tls/tls_session.hpp"

namespace sotto {

SOTTO_DECL std::shared_ptr<const detail::tcp_security> pre_shared_key::from_file(
    const std::string& path) {
    const auto refuse = [&](const std::string& what) {
        throw invalid_option("tls: the secret in " + path + " " + what);
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
            new pre_shared_key(std::move(file), path));
    const auto secret = std::make_shared<detail::net::job_secret>();
    secret->bytes.resize(secret_bytes_max + 1);
    std::size_t size = 0;
    while (size < secret->bytes.size()) {
        const auto count = sotto::detail::uninterrupted([&] {
            return ::read(file.handle(), secret->bytes.data() + size, secret->bytes.size() - size);
        });
        if (count < 0) require(sotto::detail::system_reason());
        if (count == 0) break;
        size += static_cast<std::size_t>(count);
    }
    secret->bytes.resize(size);
    return made_of(secret, path);
}

SOTTO_DECL std::shared_ptr<const detail::tcp_security> pre_shared_key::from_environment() {
    if (const char* const path = std::getenv("SOTTO_SECRET_FILE")) return from_file(path);
    if (const char* const text = std::getenv("SOTTO_SECRET"))
        return from_text(text, "SOTTO_SECRET");
    throw invalid_option(
        "tls: neither SOTTO_SECRET_FILE nor SOTTO_SECRET is set; one of them tells the secret "
        "of the job");
}

SOTTO_DECL std::shared_ptr<const detail::tcp_security> pre_shared_key::from_text(
    std::string_view text, const std::string& where) {
    const auto secret = std::make_shared<detail::net::job_secret>();
    secret->bytes.assign(text.begin(), text.end());
    return made_of(secret, where);
}

SOTTO_DECL void pre_shared_key::prepare(deadline& limit) const {
    const std::lock_guard lock(reading_);
    if (secret_) return;
    secret_ = checked(read_fifo(limit), where_);
    fifo_.close();
}

SOTTO_DECL std::unique_ptr<detail::net::secure_session> pre_shared_key::connect(
    int handle, const std::string& job, int own, int peer) const {
    return std::make_unique<detail::net::tls_session>(context_->of_openssl.get(), secret(), handle,
                                                      job, own, peer, byte_view());
}

SOTTO_DECL std::unique_ptr<detail::net::secure_session> pre_shared_key::accept(
    int handle, const std::string& job, int own, byte_view first) const {
    return std::make_unique<detail::net::tls_session>(context_->of_openssl.get(), secret(), handle,
                                                      job, own, std::nullopt, first);
}

SOTTO_DECL bool pre_shared_key::may_begin_with(byte_view first) const noexcept {
    constexpr std::byte handshake{22}, version{3};
    const unsigned size =
        std::to_integer<unsigned>(first[3]) << 8 | std::to_integer<unsigned>(first[4]);
    return first[0] == handshake && first[1] == version && size <= 2048;
}

SOTTO_DECL pre_shared_key::shared_secret pre_shared_key::checked(shared_secret secret,
                                                                 const std::string& where) {
    if (secret->bytes.size() < secret_bytes_min || secret->bytes.size() > secret_bytes_max)
        throw invalid_option("tls: the secret in " + where + " has " +
                             (secret->bytes.size() > secret_bytes_max
                                  ? "more than 4096"
                                  : std::to_string(secret->bytes.size())) +
                             " bytes; 32 to 4096 random ones are needed, since a short one can "
                             "be guessed");
    return secret;
}

SOTTO_DECL std::shared_ptr<const detail::tcp_security> pre_shared_key::made_of(
    shared_secret secret, const std::string& where) {
    return std::shared_ptr<const detail::tcp_security>(
        new pre_shared_key(checked(std::move(secret), where)));
}

SOTTO_DECL pre_shared_key::shared_secret pre_shared_key::read_fifo(deadline& limit) const {
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
        // A FIFO that never had a writer is not ready, although a read would find its end.
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

SOTTO_DECL pre_shared_key::shared_secret pre_shared_key::secret() const {
    deadline at_once(std::chrono::steady_clock::now(), duration::zero());
    prepare(at_once);
    return secret_;
}

SOTTO_DECL pre_shared_key::pre_shared_key(shared_secret secret)
    : context_(std::make_shared<detail::net::tls_context>()), secret_(std::move(secret)) {}

SOTTO_DECL pre_shared_key::pre_shared_key(sotto::detail::descriptor fifo, std::string where)
    : context_(std::make_shared<detail::net::tls_context>()),
      where_(std::move(where)),
      fifo_(std::move(fifo)) {}

}  // namespace sotto
