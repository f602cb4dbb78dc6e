#pragma once

#include <csignal>
#include <cstdint>

#include <sys/resource.h>

namespace sotto::testing {

/// While it lives no file of this process grows beyond so many bytes: a disk that is full.
class full_at {
public:
    explicit full_at(std::uintmax_t bytes) {
        ::getrlimit(RLIMIT_FSIZE, &before_);
        rlimit small = before_;
        small.rlim_cur = static_cast<rlim_t>(bytes);
        handler_ = std::signal(SIGXFSZ, SIG_IGN);
        ::setrlimit(RLIMIT_FSIZE, &small);
    }
    ~full_at() {
        ::setrlimit(RLIMIT_FSIZE, &before_);
        std::signal(SIGXFSZ, handler_);
    }
    full_at(const full_at&) = delete;
    full_at& operator=(const full_at&) = delete;

private:
    rlimit before_{};
    void (*handler_)(int) = nullptr;
};

}  // namespace sotto::testing
