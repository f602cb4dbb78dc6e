#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <cstddef>

namespace sotto::detail {

/// Writes like write(2). If no process reads a pipe any more, it fails with EPIPE and suppresses
/// the SIGPIPE that would end this process.
::ssize_t write_quietly(int to, const char* from, std::size_t size) noexcept;

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/core/detail/files/write_quietly.ipp"
#endif
