#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace sotto::detail {

/// The clocks of the workers that are there: of each its last gradient.
class worker_clocks {
public:
    explicit worker_clocks(int workers) : all_(static_cast<std::size_t>(workers)) {}

    int workers() const noexcept { return static_cast<int>(all_.size()); }
    /// Number of workers that share the round of the last gradient: all that are present, and the
    /// finished ones that gave a gradient to it.
    int sharing() const noexcept;
    bool is_present(int worker) const noexcept { return of(worker).is_present; }
    std::int64_t at(int worker) const noexcept { return of(worker).clock; }
    bool is_waited_for(int worker) const noexcept;

    void attach(int worker, std::int64_t clock) noexcept;
    void overlook(int worker) noexcept { of(worker).is_overlooked = true; }
    void detach(int worker) noexcept;
    /// As detach, for a worker that has done all its rounds.
    void finish(int worker) noexcept;
    void push(int worker, std::int64_t clock) noexcept;

    /// The clock that all have reached who are waited for; that of the last ones where nobody is.
    std::int64_t slowest() const noexcept { return slowest_but(-1).value_or(last_slowest_); }
    /// The same of all but one; nothing where nobody else is there.
    std::optional<std::int64_t> slowest_but(int worker) const noexcept;
    /// Where one that begins stands.
    std::int64_t start(int worker) const noexcept;
    /// Where one must stand that is no more than `behind` behind all others.
    std::int64_t at_least(int worker, std::int64_t behind) const noexcept;

private:
    struct entry {
        std::int64_t clock = 0;
        bool is_present = false;
        bool is_overlooked = false;
        bool has_finished = false;  // and is not there
    };

    entry& of(int worker) noexcept { return all_[static_cast<std::size_t>(worker)]; }
    const entry& of(int worker) const noexcept { return all_[static_cast<std::size_t>(worker)]; }

    std::vector<entry> all_;
    std::int64_t last_slowest_ = 0;
    std::int64_t last_pushed_ = 0;  // the clock of the last gradient, of any worker
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/parameter_server/consistency/detail/worker_clocks.ipp"
#endif
