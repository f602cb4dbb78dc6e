#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "sotto/core/clock.hpp"

namespace sotto::detail::simulation {

/// Ranks in the order of a time that each may have, and which may change; of equal times, the lower
/// rank first.
///   cost    O(log N) to change a time: a binary heap that knows where each rank is. 20 bytes a
///           rank, so that a thousand stay in a first-level cache
class rank_queue {
public:
    explicit rank_queue(int ranks) : places_(static_cast<std::size_t>(ranks), nowhere) {
        heap_.reserve(places_.size());
    }

    bool empty() const noexcept { return heap_.empty(); }
    int first() const noexcept { return heap_.front().rank; }
    time_point time_of_first() const noexcept { return heap_.front().when; }

    /// Of a rank that has one.
    time_point time_of(int rank) const noexcept {
        return heap_[places_[static_cast<std::size_t>(rank)]].when;
    }

    /// Gives a rank a time, whether or not it has one.
    void set(int rank, time_point when) noexcept {
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

    /// Of a rank that has a time.
    void remove(int rank) noexcept {
        set(rank, (time_point::min)());
        remove_first();
    }

    void remove_first() noexcept {
        places_[static_cast<std::size_t>(first())] = nowhere;
        const entry last = heap_.back();
        heap_.pop_back();
        if (heap_.empty()) return;
        heap_.front() = last;
        sink(0);
    }

private:
    static constexpr std::size_t nowhere = ~std::size_t{};

    struct entry {
        time_point when;
        int rank;

        bool is_before(const entry& other) const noexcept {
            return when != other.when ? when < other.when : rank < other.rank;
        }
    };

    void put(entry e, std::size_t place) noexcept {
        heap_[place] = e;
        places_[static_cast<std::size_t>(e.rank)] = place;
    }

    void rise(std::size_t place) noexcept {
        const entry moved = heap_[place];
        for (; place > 0 && moved.is_before(heap_[(place - 1) / 2]); place = (place - 1) / 2)
            put(heap_[(place - 1) / 2], place);
        put(moved, place);
    }

    void sink(std::size_t place) noexcept {
        const entry moved = heap_[place];
        for (std::size_t below = 2 * place + 1; below < heap_.size(); below = 2 * place + 1) {
            if (below + 1 < heap_.size() && heap_[below + 1].is_before(heap_[below])) ++below;
            if (!heap_[below].is_before(moved)) break;
            put(heap_[below], place);
            place = below;
        }
        put(moved, place);
    }

    std::vector<entry> heap_;
    std::vector<std::size_t> places_;  // of each rank in the heap
};

}  // namespace sotto::detail::simulation
