#pragma once

#include <mutex>
#include <vector>

#include "sotto/transports/remarks.hpp"

namespace sotto::testing {

/// Hears all remarks of this process while it lives, those of every thread; the last one made hears
/// them alone.
class listener {
public:
    listener() {
        heard().clear();
        on_remark = [](const remark& r) noexcept {
            const std::lock_guard held(mutex());
            heard().push_back(r);
        };
    }
    listener(const listener&) = delete;
    listener& operator=(const listener&) = delete;
    ~listener() { on_remark = say_remark; }

    std::vector<remark> all() const {
        const std::lock_guard held(mutex());
        return heard();
    }

private:
    static std::mutex& mutex() {
        static std::mutex one;
        return one;
    }
    static std::vector<remark>& heard() {
        static std::vector<remark> all;
        return all;
    }
};

}  // namespace sotto::testing
