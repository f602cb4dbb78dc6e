#pragma once

#include <cstddef>
#include <memory>
#include <utility>

namespace sotto::detail::net {

/// Queue in memory that grows to its maximum size and is then reused. It starts with room for
/// `Room` entries, a power of two.
template <class T, std::size_t Room = 16>
class ring_queue {
public:
    bool empty() const noexcept { return count_ == 0; }
    std::size_t size() const noexcept { return count_; }
    T& operator[](std::size_t i) noexcept { return entries_[(first_ + i) & (room_ - 1)]; }
    T& front() noexcept { return (*this)[0]; }
    T& back() noexcept { return (*this)[count_ - 1]; }

    void push(T value) {
        if (count_ == room_) grow();
        ++count_;
        back() = std::move(value);
    }

    void pop() noexcept {
        first_ = (first_ + 1) & (room_ - 1);
        --count_;
    }

private:
    void grow() {
        const std::size_t room = room_ == 0 ? Room : 2 * room_;
        auto entries = std::make_unique<T[]>(room);
        for (std::size_t i = 0; i < count_; ++i) entries[i] = std::move((*this)[i]);
        entries_ = std::move(entries);
        first_ = 0;
        room_ = room;
    }

    std::unique_ptr<T[]> entries_;
    std::size_t room_ = 0;  // a power of two
    std::size_t first_ = 0;
    std::size_t count_ = 0;
};

}  // namespace sotto::detail::net
