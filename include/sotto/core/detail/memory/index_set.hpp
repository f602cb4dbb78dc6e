#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sotto::detail {

/// A set of indices below a fixed number, which is read in ascending order.
///   cost    insert and erase O(1); next reads a word for 4,096 indices that are not in the set. A
///           bit and a 64th an index. Nothing is allocated after it was made
class index_set {
public:
    /// For indices below `end`. The set is empty.
    explicit index_set(std::size_t end) : end_(end), words_(end / 64 + 1), used_(end / 4096 + 1) {}

    void insert(std::size_t index) noexcept {
        std::uint64_t& word = words_[index / 64];
        size_ += (word & bit(index)) == 0;
        word |= bit(index);
        used_[index / 4096] |= bit(index / 64);
    }

    void erase(std::size_t index) noexcept {
        std::uint64_t& word = words_[index / 64];
        size_ -= (word & bit(index)) != 0;
        word &= ~bit(index);
        if (word == 0) used_[index / 4096] &= ~bit(index / 64);
    }

    void clear() noexcept {
        if (size_ == 0) return;
        std::fill(words_.begin(), words_.end(), 0);
        std::fill(used_.begin(), used_.end(), 0);
        size_ = 0;
    }

    std::size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }
    /// One more than the largest index that may be in it.
    std::size_t end() const noexcept { return end_; }

    /// The least index in the set that is at least `from`; end() if there is none.
    std::size_t next(std::size_t from) const noexcept {
        if (size_ == 0 || from >= end_) return end_;
        const std::size_t word = from / 64;
        if (const std::uint64_t rest = words_[word] >> from % 64; rest != 0)
            return from + static_cast<std::size_t>(std::countr_zero(rest));
        const std::size_t found = next_word(word + 1);
        return found < words_.size()
                   ? 64 * found + static_cast<std::size_t>(std::countr_zero(words_[found]))
                   : end_;
    }

private:
    static constexpr std::uint64_t bit(std::size_t place) noexcept {
        return std::uint64_t{1} << place % 64;
    }

    /// The first word from this one on in which there is an index.
    std::size_t next_word(std::size_t from) const noexcept {
        if (from >= words_.size()) return words_.size();
        std::size_t block = from / 64;
        std::uint64_t rest = used_[block] >> from % 64 << from % 64;
        while (rest == 0) {
            if (++block == used_.size()) return words_.size();
            rest = used_[block];
        }
        return 64 * block + static_cast<std::size_t>(std::countr_zero(rest));
    }

    std::size_t end_;
    std::size_t size_ = 0;
    std::vector<std::uint64_t> words_;  // a bit an index
    std::vector<std::uint64_t> used_;   // a bit a word that is not 0
};

}  // namespace sotto::detail
