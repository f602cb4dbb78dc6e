#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sotto::detail {

/// How many rounds each worker has done that is there.
class worker_clocks {
public:
    explicit worker_clocks(int workers) : all_(static_cast<std::size_t>(workers)) {}

    int present() const noexcept { return present_; }
    bool is_present(int worker) const noexcept { return of(worker).is_present; }
    std::int64_t at(int worker) const noexcept { return of(worker).clock; }

    void attach(int worker) noexcept {
        if (of(worker).is_present) return;
        of(worker) = {present_ > 0 ? slowest() : last_slowest_, true};
        ++present_;
    }
    void detach(int worker) noexcept {
        if (!of(worker).is_present) return;
        last_slowest_ = slowest();
        of(worker).is_present = false;
        --present_;
    }
    void advance(int worker) noexcept { ++of(worker).clock; }

    /// The clock that all have reached; requires that anybody is there.
    std::int64_t slowest() const noexcept {
        std::int64_t least = INT64_MAX;
        for (const entry& e : all_)
            if (e.is_present) least = std::min(least, e.clock);
        return least;
    }

private:
    struct entry {
        std::int64_t clock = 0;
        bool is_present = false;
    };

    entry& of(int worker) noexcept { return all_[static_cast<std::size_t>(worker)]; }
    const entry& of(int worker) const noexcept { return all_[static_cast<std::size_t>(worker)]; }

    std::vector<entry> all_;
    int present_ = 0;
    std::int64_t last_slowest_ = 0;
};

}  // namespace sotto::detail
