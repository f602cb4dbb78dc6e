#pragma once

#include <chrono>

#include "sotto/launch/environment.hpp"
#include "sotto/transports/tcp.hpp"
#include "sotto/transports/tcp_options.hpp"

namespace bench {

/// The options of the place that the environment tells of. The network of namespaces.py is nobody
/// else's, and may be used without a secret. Slow links and whole data sets take their time.
inline sotto::tcp_options tcp_options() {
    auto options = sotto::tcp_options::at(sotto::launch::from_environment());
    options.insecure_network = true;
    options.timeout = std::chrono::minutes(10);
    return options;
}

}  // namespace bench
