#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "sotto/strategies/parameter_server/consistency/consistency.hpp"
#include "sotto/core/clock.hpp"

namespace sotto::detail {

/// Which workers a server has, and which of them may go on: keeps the consistency told.
///
/// Several servers do not speak with each other, and ranks come and go while each of them is
/// somewhere else. Nobody waits for ever all the same. Who waits for an answer waits for workers of
/// lower clocks than its own, and a worker's clock is the same at all servers that have its last
/// gradient; so a chain of workers, each of which waits for the next, ends at one that computes,
/// or whose gradient is on its way. Who begins in the midst has no gradient, and may have to wait
/// at another server for the round that an earlier process of it has given to: nobody waits for it
/// until it has pushed, unless there is one server.
template <class Consistency>
class worker_registry {
public:
    /// `servers`: all that workers wait for.
    worker_registry(const Consistency& options, int workers, int servers)
        : consistency_(options.bind(workers)),
          all_(static_cast<std::size_t>(workers)),
          is_alone_(servers == 1) {}

    /// Whether the worker is there.
    bool has(int worker) const noexcept { return all_[index(worker)].is_present; }
    /// Whether it has asked for parameters and was not told that it may have them.
    bool waits(int worker) const noexcept { return all_[index(worker)].waits; }

    /// Waits for this worker from now on, where the consistency waits for workers.
    void expect(int worker) {
        if (!std::exchange(of(worker).is_present, true))
            consistency_.attach(worker, consistency_.start(worker));
    }
    /// It begins.
    void attach(int worker) {
        expect(worker);
        entry& e = of(worker);
        e.waits = e.is_new = true;
        if (is_under_way_ || e.has_been) overlook(worker);
    }
    /// It goes on where it was with an earlier process of this server: it had pushed gradients up
    /// to that clock.
    void continue_from(int worker, std::int64_t clock) {
        of(worker).is_present = of(worker).waits = true;
        consistency_.attach(worker, clock);
        if (std::exchange(is_under_way_, true)) return;
        for (int other = 0; other < workers(); ++other)
            if (of(other).is_new) overlook(other);
    }
    /// It pushes a gradient; whether that comes too late for its round.
    bool push(int worker, std::int64_t clock, time_point now) {
        of(worker).waits = true;
        of(worker).is_new = false;
        const bool is_late = consistency_.is_late(clock);
        consistency_.pushed(worker, clock, now);
        return is_late;
    }
    /// The worker leaves, `done` with all its rounds or not. Returns false if it was not present.
    bool detach(int worker, bool done = false) {
        if (!of(worker).is_present) return false;
        of(worker) = {.has_been = true};
        if constexpr (requires { consistency_.finish(worker); }) {
            if (done) {
                consistency_.finish(worker);
                return true;
            }
        }
        consistency_.detach(worker);
        return true;
    }
    /// For another time: all begin anew.
    void begin_again(const Consistency& options) {
        const int count = workers();
        consistency_ = options.bind(count);
        all_.assign(all_.size(), {});
        is_under_way_ = false;
    }

    /// One that may have the parameters now, and was not told so before.
    std::optional<int> next_to_go(time_point now) {
        for (int worker = 0; worker < workers(); ++worker) {
            entry& e = of(worker);
            if (!e.is_present || !e.waits || !consistency_.may_go(worker, now)) continue;
            e.waits = false;
            return worker;
        }
        return std::nullopt;
    }
    /// What the clock of one that goes on is at least.
    std::int64_t clock(int worker) const {
        return all_[index(worker)].is_new ? consistency_.start(worker) : consistency_.clock(worker);
    }

    bool collects() const noexcept { return consistency_.collects(); }
    bool round_complete() const noexcept {
        return consistency_.collects() && consistency_.round_complete();
    }
    bool in_round(int worker) const noexcept { return consistency_.in_round(worker); }
    void end_round() {
        consistency_.end_round();
        is_under_way_ = true;
    }
    double weight() const noexcept { return consistency_.weight(); }

private:
    struct entry {
        bool is_present = false;
        bool waits = false;
        bool is_new = false;    // has pushed no gradient to this process
        bool has_been = false;  // there before, as another process
    };

    static std::size_t index(int worker) noexcept { return static_cast<std::size_t>(worker); }
    entry& of(int worker) noexcept { return all_[index(worker)]; }
    int workers() const noexcept { return static_cast<int>(all_.size()); }

    /// Where nothing is collected one that begins is answered at once, and does not wait.
    void overlook(int worker) {
        if (!is_alone_ && consistency_.collects()) consistency_.overlook(worker);
    }

    consistency_state<Consistency> consistency_;
    std::vector<entry> all_;
    bool is_alone_;
    bool is_under_way_ = false;  // somebody has trained with this process, or an earlier one
};

}  // namespace sotto::detail
