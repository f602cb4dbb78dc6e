#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "sotto/consistency/consistency.hpp"
#include "sotto/core/clock.hpp"

namespace sotto {

/// Which workers a server has, and which of them may go on: keeps the consistency told.
///
/// Several servers do not speak with each other, and ranks come and go while each of them is
/// somewhere in a round of its own. Nobody waits for ever, because in the round in which a worker
/// comes
///   - nobody waits for one that has nothing to push: an earlier process of this server has had it,
///     and the worker may wait, at another server, for somebody who waits here;
///   - nor, once somebody has trained, for one that is new, which waits for all servers;
///   - one that pushes again what no process has answered is waited for.
/// So the rounds of two workers lie no more than one further apart here than at any other server,
/// and each waiting for the other would need two.
template <class Consistency>
class attendance {
public:
    /// `servers`: all that workers wait for.
    attendance(const Consistency& options, int workers, int servers)
        : consistency_(options.bind(workers)),
          all_(static_cast<std::size_t>(workers)),
          excuses_(servers > 1) {}

    bool has(int worker) const noexcept { return all_[index(worker)].is_present; }
    /// Whether it has asked for parameters and was not told that it may have them.
    bool waits(int worker) const noexcept { return all_[index(worker)].waits; }

    /// Waits for this worker from now on, where the consistency waits for workers.
    void expect(int worker) {
        if (!std::exchange(of(worker).is_present, true)) consistency_.attach(worker);
    }
    /// It begins.
    void attach(int worker) {
        expect(worker);
        of(worker).waits = of(worker).is_new = true;
        if (is_under_way_) excuse_if_new(worker);
    }
    /// It goes on where it was with an earlier process of this server, which `had_all` that it had
    /// pushed.
    void go_on(int worker, bool had_all) {
        expect(worker);
        of(worker).waits = true;
        if (excuses_ && had_all) {
            consistency_.excuse(worker);
            of(worker).goes = !consistency_.collects();
        }
        if (std::exchange(is_under_way_, true)) return;
        for (int other = 0; other < workers(); ++other) excuse_if_new(other);
    }
    /// It pushes a gradient; whether that comes too late for its round.
    bool push(int worker, time_point now) {
        of(worker).waits = true;
        of(worker).is_new = false;
        const bool is_late = consistency_.is_late(worker);
        consistency_.pushed(worker, now);
        return is_late;
    }
    /// It is gone; false if it was not there.
    bool detach(int worker) {
        if (!of(worker).is_present) return false;
        of(worker) = {};
        consistency_.detach(worker);
        return true;
    }
    /// For another time: all begin anew.
    void begin_again() noexcept { is_under_way_ = false; }

    /// One that may have the parameters now, and was not told so before.
    std::optional<int> next_to_go(time_point now) {
        for (int worker = 0; worker < workers(); ++worker) {
            entry& e = of(worker);
            if (!e.is_present || !e.waits) continue;
            if (!e.goes && !consistency_.may_go(worker, now)) continue;
            e.waits = e.goes = false;
            return worker;
        }
        return std::nullopt;
    }

    bool collects() const noexcept { return consistency_.collects(); }
    bool round_complete() const noexcept {
        return consistency_.collects() && consistency_.round_complete();
    }
    void end_round() {
        consistency_.end_round();
        is_under_way_ = true;
    }
    double weight() const noexcept { return consistency_.weight(); }

private:
    struct entry {
        bool is_present = false;
        bool waits = false;
        bool is_new = false;  // has pushed no gradient to this process
        bool goes = false;    // whatever the consistency says, for it has been further before
    };

    static std::size_t index(int worker) noexcept { return static_cast<std::size_t>(worker); }
    entry& of(int worker) noexcept { return all_[index(worker)]; }
    int workers() const noexcept { return static_cast<int>(all_.size()); }

    void excuse_if_new(int worker) {
        if (of(worker).is_new && excuses_ && consistency_.collects()) consistency_.excuse(worker);
    }

    consistency_state<Consistency> consistency_;
    std::vector<entry> all_;
    bool excuses_;
    bool is_under_way_ = false;  // somebody has trained with this process, or an earlier one
};

}  // namespace sotto
