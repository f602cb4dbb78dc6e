#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include "sotto/core/clock.hpp"

namespace sotto {

/// How ranks that are threads of one process wait for each other.
struct in_process_options {
    /// Time limit of one blocking call; above 0, or deadline::never. It also limits how long one
    /// rank may keep the others waiting between two calls of its own: computing, loading data,
    /// callbacks, evaluation. Time in which the whole process is halted does not count.
    duration timeout = std::chrono::seconds(30);
    std::int64_t transfers = 64;      // room for transfers in flight; grows when exceeded
    std::function<void()> disturb{};  // for tests: called before every operation, by all threads at
                                      // once
};

}  // namespace sotto
