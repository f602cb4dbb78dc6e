#pragma once

#include <mutex>
#include <vector>

#include "sotto/transports/diagnostics.hpp"

namespace sotto::testing {

/// Receives all diagnostics of this process while it lives, from every thread. Only the listener
/// made last receives them.
class listener {
public:
    listener() {
        heard().clear();
        on_diagnostic = [](const diagnostic& r) noexcept {
            const std::lock_guard held(mutex());
            heard().push_back(r);
        };
    }
    listener(const listener&) = delete;
    listener& operator=(const listener&) = delete;
    ~listener() { on_diagnostic = print_diagnostic; }

    std::vector<diagnostic> all() const {
        const std::lock_guard held(mutex());
        return heard();
    }

private:
    static std::mutex& mutex() {
        static std::mutex one;
        return one;
    }
    static std::vector<diagnostic>& heard() {
        static std::vector<diagnostic> all;
        return all;
    }
};

}  // namespace sotto::testing
