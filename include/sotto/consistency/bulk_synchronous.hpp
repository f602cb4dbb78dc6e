#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sotto/consistency/consistency.hpp"
#include "sotto/core/clock.hpp"
#include "sotto/core/errors.hpp"

namespace sotto {

/// Rounds: the gradients of all workers, at the same parameters, make one step.
///   math    w -= rate * mean of the gradients, or their sum; added up in the order of the workers
///   shape   with b backup workers a round takes the first n - b gradients of the n workers that
///           are there, one at least. Who comes later goes on with the new parameters; its gradient
///           is dropped, which it is told, and which is counted
///   source  backup workers: Chen, Monga, Bengio, Jozefowicz 2016, Revisiting Distributed
///           Synchronous SGD, arXiv:1604.00981
struct bulk_synchronous {
    int backups = 0;
    bool averaged = true;

    static constexpr bool in_rounds = true;

    class state {
    public:
        state(int workers, int backups, bool averaged)
            : backups_(backups), averaged_(averaged), workers_(static_cast<std::size_t>(workers)) {}

        /// Who is there anew and has given its gradient before waits for the end of the round.
        void attach(int worker) noexcept {
            entry& e = of(worker);
            if (has_given(e))
                e.is_present = true;
            else
                e = {.is_present = true, .round = round_};
        }
        void detach(int worker) noexcept {
            // What it gave counts; it is no longer waited for.
            of(worker).is_present = false;
        }

        /// Should its next gradient come before the round ends, that is for this round.
        void excuse(int worker) noexcept {
            if (!has_given(of(worker))) of(worker).round = round_ + 1;
        }

        void pushed(int worker, time_point) noexcept {
            entry& e = of(worker);
            if (e.round > round_) {
                if (taken_ == 0 && waited_for() == 0) ++round_;  // all gave theirs elsewhere
                e.round = round_;
            }
            e.has_pushed = true;
            if (!is_late(worker)) ++taken_;
        }

        /// In the round after the one that its gradient was for.
        bool may_go(int worker, time_point) noexcept {
            entry& e = of(worker);
            if (has_given(e)) return false;
            e.has_pushed = false;
            e.round = std::max(e.round, round_);
            return true;
        }

        bool collects() const noexcept { return true; }
        bool round_complete() const noexcept {
            return taken_ > 0 && taken_ >= std::max(1, waited_for() - backups_);
        }
        void end_round() noexcept {
            ++round_;
            taken_ = 0;
        }
        bool is_late(int worker) const noexcept {
            const entry& e = workers_[static_cast<std::size_t>(worker)];
            return e.round < round_;
        }
        double weight() const noexcept { return averaged_ ? 1.0 / std::max(1, taken_) : 1.0; }

    private:
        struct entry {
            bool is_present = false;
            bool has_pushed = false;
            std::int64_t round = 0;  // that its next gradient, or the one that it has given, is for
        };

        bool has_given(const entry& e) const noexcept { return e.has_pushed && e.round == round_; }
        entry& of(int worker) noexcept { return workers_[static_cast<std::size_t>(worker)]; }

        /// Who is there and not excused, and who has given its gradient and left since.
        int waited_for() const noexcept {
            int count = 0;
            for (const entry& e : workers_)
                count += (e.is_present && e.round <= round_) || has_given(e) ? 1 : 0;
            return count;
        }

        int backups_;
        bool averaged_;
        std::vector<entry> workers_;
        std::int64_t round_ = 0;
        int taken_ = 0;
    };

    state bind(int workers) const {
        if (backups < 0 || backups >= std::max(workers, 1))
            throw invalid_option("bulk_synchronous: " + std::to_string(backups) + " backups of " +
                                 std::to_string(workers) +
                                 " workers; 0 to workers - 1 are possible");
        return {workers, backups, averaged};
    }
    void describe(auto&& field) const {
        field("backups", backups);
        field("averaged", averaged);
    }
};

static_assert(bulk_consistency<bulk_synchronous>);

}  // namespace sotto
