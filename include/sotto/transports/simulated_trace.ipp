#pragma once

#include "sotto/transports/simulated_trace.hpp"

#include <array>
#include <span>

#include "sotto/core/config.hpp"
#include "sotto/kernels/detail/simd/digest.hpp"

namespace sotto::detail {

SOTTO_DECL void simulated_trace::add(const simulated_event& e) {
    const std::array<std::int64_t, 5> words{
        static_cast<std::int64_t>(e.what),
        std::chrono::duration_cast<std::chrono::nanoseconds>(e.when.time_since_epoch()).count(),
        e.rank, e.peer, e.size};
    hash_ = kernels::digest(std::as_bytes(std::span(words)), hash_);
    ++count_;
    if (listener) listener(e);
}

}  // namespace sotto::detail
