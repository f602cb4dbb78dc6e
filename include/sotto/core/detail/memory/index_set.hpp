#pragma once

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

    void insert(std::size_t index) noexcept;

    void erase(std::size_t index) noexcept;

    void clear() noexcept;

    std::size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }
    /// One more than the largest index that may be in it.
    std::size_t end() const noexcept { return end_; }

    /// The least index in the set that is at least `from`; end() if there is none.
    std::size_t next(std::size_t from) const noexcept;

private:
    static constexpr std::uint64_t bit(std::size_t place) noexcept {
        return std::uint64_t{1} << place % 64;
    }

    /// The first word from this one on in which there is an index.
    std::size_t next_word(std::size_t from) const noexcept;

    std::size_t end_;
    std::size_t size_ = 0;
    std::vector<std::uint64_t> words_;  // a bit an index
    std::vector<std::uint64_t> used_;   // a bit a word that is not 0
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/core/detail/memory/index_set.ipp"
#endif
