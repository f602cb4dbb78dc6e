#pragma once

#include "sotto/transports/detail/simulated/rank_queue.hpp"

#include <utility>

#include "sotto/core/config.hpp"

namespace sotto::detail::simulation {

SOTTO_DECL rank_queue::rank_queue(int ranks) : places_(static_cast<std::size_t>(ranks), nowhere) {
    heap_.reserve(places_.size());
}

SOTTO_DECL time_point rank_queue::time_of(int rank) const noexcept {
    return heap_[places_[static_cast<std::size_t>(rank)]].when;
}

SOTTO_DECL void rank_queue::set(int rank, time_point when) noexcept {
    std::size_t& place = places_[static_cast<std::size_t>(rank)];
    if (place == nowhere) {
        place = heap_.size();
        heap_.push_back({when, rank});
        rise(place);
        return;
    }
    const entry before = std::exchange(heap_[place], {when, rank});
    if (heap_[place].is_before(before))
        rise(place);
    else
        sink(place);
}

SOTTO_DECL void rank_queue::remove(int rank) noexcept {
    set(rank, (time_point::min)());
    remove_first();
}

SOTTO_DECL void rank_queue::remove_first() noexcept {
    places_[static_cast<std::size_t>(first())] = nowhere;
    const entry last = heap_.back();
    heap_.pop_back();
    if (heap_.empty()) return;
    heap_.front() = last;
    sink(0);
}

SOTTO_DECL bool rank_queue::entry::is_before(const entry& other) const noexcept {
    return when != other.when ? when < other.when : rank < other.rank;
}

SOTTO_DECL void rank_queue::put(entry e, std::size_t place) noexcept {
    heap_[place] = e;
    places_[static_cast<std::size_t>(e.rank)] = place;
}

SOTTO_DECL void rank_queue::rise(std::size_t place) noexcept {
    const entry moved = heap_[place];
    for (; place > 0 && moved.is_before(heap_[(place - 1) / 2]); place = (place - 1) / 2)
        put(heap_[(place - 1) / 2], place);
    put(moved, place);
}

SOTTO_DECL void rank_queue::sink(std::size_t place) noexcept {
    const entry moved = heap_[place];
    for (std::size_t below = 2 * place + 1; below < heap_.size(); below = 2 * place + 1) {
        if (below + 1 < heap_.size() && heap_[below + 1].is_before(heap_[below])) ++below;
        if (!heap_[below].is_before(moved)) break;
        put(heap_[below], place);
        place = below;
    }
    put(moved, place);
}

}  // namespace sotto::detail::simulation
