#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>
#include <filesystem>
#include <functional>
#include <thread>
#include <set>
#include <mutex>
#include <unordered_set>
#include <variant>

#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto::detail::collectives {

/// Transfers under way, oldest first, in a ring of fixed capacity. Memory was lent for each: should
/// it be destroyed while any is under way (an exception passes), it withdraws the rank, and the
/// memory can go.
class flight {
public:
    /// For so many transfers at once.
    flight(transport_ref through, std::size_t capacity) : through_(through), requests_(capacity) {}
    /// Takes what is under way along.
    flight(flight&& other) noexcept
        : through_(other.through_),
          requests_(std::move(other.requests_)),
          first_(other.first_),
          count_(std::exchange(other.count_, 0)) {}
    /// Exchanges what is under way.
    flight& operator=(flight&& other) noexcept {
        swap(other);
        return *this;
    }
    /// Withdraws the rank if any transfer is under way.
    ~flight() {
        if (count_ > 0) through_.withdraw();
    }

    /// Whether nothing is under way.
    bool empty() const noexcept { return count_ == 0; }
    /// Whether nothing more can be.
    bool full() const noexcept { return count_ == requests_.size(); }
    /// Transfers under way.
    std::size_t size() const noexcept { return count_; }

    /// Requires !full().
    void push(request r) noexcept {
        requests_[(first_ + count_) % requests_.size()] = r;
        ++count_;
    }

    /// How the oldest ended, and forgets it; nothing if there is none or it is still under way.
    std::optional<completion> pop_complete() {
        if (count_ == 0) return std::nullopt;
        const auto ended = through_.poll(requests_[first_]);
        if (!ended) return std::nullopt;
        first_ = (first_ + 1) % requests_.size();
        --count_;
        return ended;
    }

private:
    void swap(flight& other) noexcept {
        std::swap(through_, other.through_);
        std::swap(requests_, other.requests_);
        std::swap(first_, other.first_);
        std::swap(count_, other.count_);
    }

    transport_ref through_;
    std::vector<request> requests_;
    std::size_t first_ = 0;
    std::size_t count_ = 0;
};

}  // namespace sotto::detail::collectives
