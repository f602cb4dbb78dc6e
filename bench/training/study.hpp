#pragma once

// What programs of studies have in common.

#include <sotto/data/read_idx.hpp>
#include <sotto/transports/simulated_options.hpp>

#include <chrono>
#include <cstdint>
#include <string>

namespace study {

/// A gigabit a second between ranks that compute so slowly that it is enough, and never give up.
inline sotto::simulated_options network(std::uint64_t seed) {
    sotto::simulated_options options{.seed = seed};
    options.line =
        sotto::simulated_options::connection::ethernet(1e9, std::chrono::microseconds(50));
    options.machine.flops = 1e9;
    options.dead_after = {};
    options.timeout = std::chrono::hours(1);
    return options;
}

/// MNIST's digits in a folder that holds mnist/: to learn, or for tests.
inline sotto::data::labelled_set mnist(const std::string& data, bool for_tests) {
    const std::string part = data + "/mnist/" + (for_tests ? "t10k" : "train");
    return sotto::data::read_idx(part + "-images-idx3-ubyte.gz", part + "-labels-idx1-ubyte.gz");
}

}  // namespace study
