#pragma once

#include "sotto/core/standard_streams.hpp"

#include <cerrno>
#include <cstdio>
#include <string>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/files/descriptor.hpp"
#include "sotto/core/errors.hpp"

namespace sotto {

SOTTO_DECL bool open_standard_streams() noexcept {
    return detail::open_standard_streams();
}

SOTTO_DECL void require_standard_output() {
    const bool failed_before = std::ferror(stdout) != 0;
    errno = 0;
    const bool fails = std::fflush(stdout) != 0;
    if (!failed_before && !fails) return;
    throw output_incomplete(
        "standard output is incomplete: " +
        (errno != 0 ? detail::system_reason().message() : "a write to it failed before"));
}

}  // namespace sotto
