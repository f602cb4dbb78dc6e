#pragma once

#include <barrier>
#include <cstdint>
#include <optional>
#include <string>

#include <doctest/doctest.h>

#include "sotto/core/layout.hpp"
#include "sotto/trainer/reports.hpp"
#include "support/allocation_count.hpp"

namespace sotto::testing {

/// Counts what all threads allocate from the end of a step, by default the first, to the end of the
/// last epoch. All ranks meet at both ends, so that what one allocates before or after is not
/// counted.
class counting_window {
public:
    counting_window(int ranks, std::int64_t last_epoch, std::int64_t first_step = 1)
        : meeting_(ranks), last_epoch_(last_epoch), first_step_(first_step) {}

    void on_step(int rank, const step_report& report) {
        if (report.step != first_step_) return;
        meeting_.arrive_and_wait();  // every rank has done its first step
        if (rank == 0) count_.emplace();
        meeting_.arrive_and_wait();
    }

    void on_epoch(int rank, const epoch_report& report) {
        if (report.epoch != last_epoch_) return;
        meeting_.arrive_and_wait();  // no rank does anything any more
        if (rank == 0) found_ = count_->on_all_threads();
        meeting_.arrive_and_wait();
    }

    std::int64_t found() const { return found_; }

private:
    std::barrier<> meeting_;
    std::int64_t last_epoch_, first_step_;
    std::optional<support::allocation_count> count_;
    std::int64_t found_ = -1;
};

/// A callback of one rank.
struct at_the_window {
    counting_window* window;
    int rank;
    void on_step(const step_report& report) { window->on_step(rank, report); }
    void on_epoch(const epoch_report& report) { window->on_epoch(rank, report); }
};

inline bool counted() {
    if (!support::allocation_count::works)
        MESSAGE("skipped: allocations are not counted under sanitizers");
    return support::allocation_count::works;
}

/// Many tensors of all sizes, so that many transfers are under way at once.
inline layout many_tensors() {
    layout tensors;
    for (int i = 0; i < 12; ++i) {
        const std::string name = "layer" + std::to_string(i);
        tensors.add(name + ".weight", {4 + 7 * i, 5 + i});
        tensors.add(name + ".bias", {4 + 7 * i}, tensor_kind::bias);
    }
    tensors.add("empty", {0, 2});
    return tensors;
}

}  // namespace sotto::testing
