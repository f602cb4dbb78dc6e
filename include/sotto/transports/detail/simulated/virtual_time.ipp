#pragma once

#include "sotto/transports/detail/simulated/virtual_time.hpp"

#include <algorithm>
#include <stdexcept>

#include "sotto/core/config.hpp"

namespace sotto::detail::simulation {

SOTTO_DECL virtual_time::virtual_time(int ranks) : turns_(ranks) {
    for (int rank = 0; rank < ranks; ++rank) sleepers_.push_back(std::make_unique<sleeper>());
}

SOTTO_DECL void virtual_time::tell(time_point when, happening& target, std::uint64_t what) {
    told_.push({(std::max)(when, now_), ++count_told_, &target, what});
}

SOTTO_DECL void virtual_time::sleep(int rank, time_point until) {
    sleeper& own = of(rank);
    if (own.is_killed) return;  // it only unwinds
    own.woken = false;
    turns_.set(rank, (std::max)(until, now_));
    pass(rank);
    if (own.is_killed) {
        own.is_deaf = false;
        throw killed();
    }
}

SOTTO_DECL void virtual_time::work(int rank, time_point until) {
    of(rank).is_deaf = true;
    sleep(rank, until);
    of(rank).is_deaf = false;
}

SOTTO_DECL void virtual_time::wake(int rank) {
    sleeper& s = of(rank);
    if (!s.is_asleep || s.is_deaf || s.woken) return;
    s.woken = true;
    turns_.set(rank, now_);
}

SOTTO_DECL void virtual_time::freeze(int rank, time_point until) noexcept {
    sleeper& s = of(rank);
    const time_point thaws = (std::max)(s.frozen_until, now_);
    if (until <= thaws) return;
    s.frozen_until = until;
    if (s.is_asleep && s.is_deaf) turns_.set(rank, turns_.time_of(rank) + (until - thaws));
}

SOTTO_DECL void virtual_time::kill(int rank) {
    sleeper& s = of(rank);
    s.is_killed = true;
    s.is_deaf = s.woken = false;  // a frozen rank may have been woken without effect
    s.frozen_until = {};
    wake(rank);
}

SOTTO_DECL void virtual_time::settle() {
    while (!told_.empty()) let_happen();
}

SOTTO_DECL const virtual_time::sleeper& virtual_time::of(int rank) const noexcept {
    return *sleepers_[static_cast<std::size_t>(rank)];
}

SOTTO_DECL fiber& virtual_time::first_of_those_left(fiber& otherwise) {
    while (left_ > 0) try {
            return next()->code;
        } catch (...) {
            if (!stopped_by_) stopped_by_ = std::current_exception();
            for (int rank = 0; rank < static_cast<int>(sleepers_.size()); ++rank)
                if (of(rank).is_asleep) kill(rank);
        }
    return otherwise;
}

SOTTO_DECL void virtual_time::pass(int rank) {
    sleeper& own = of(rank);
    own.is_asleep = true;
    try {
        if (sleeper* const chosen = next(); chosen != &own) own.code.give_to(chosen->code);
    } catch (...) {
        own.is_asleep = false;
        turns_.remove(rank);
        throw;
    }
    own.is_asleep = false;
}

SOTTO_DECL bool virtual_time::is_anybody_to_go_on() const noexcept {
    return !turns_.empty() && turns_.time_of_first() < (time_point::max)();
}

SOTTO_DECL void virtual_time::let_happen() {
    const told first = told_.top();
    told_.pop();
    now_ = first.when;
    first.target->happen(first.what);
}

SOTTO_DECL virtual_time::sleeper* virtual_time::next() {
    while (!told_.empty() || is_anybody_to_go_on()) {
        if (turns_.empty() || (!told_.empty() && told_.top().when <= turns_.time_of_first())) {
            let_happen();
            continue;
        }
        const int rank = turns_.first();
        sleeper& s = of(rank);
        if (turns_.time_of_first() < s.frozen_until) {
            turns_.set(rank, s.frozen_until);
            continue;
        }
        now_ = turns_.time_of_first();
        turns_.remove_first();
        return &s;
    }
    throw std::logic_error("simulated: all ranks sleep, and nothing will wake one");
}

}  // namespace sotto::detail::simulation
