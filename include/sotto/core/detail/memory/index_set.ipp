#pragma once

#include "sotto/core/detail/memory/index_set.hpp"

#include <algorithm>
#include <bit>

#include "sotto/core/config.hpp"

namespace sotto::detail {

SOTTO_DECL void index_set::insert(std::size_t index) noexcept {
    std::uint64_t& word = words_[index / 64];
    size_ += (word & bit(index)) == 0;
    word |= bit(index);
    used_[index / 4096] |= bit(index / 64);
}

SOTTO_DECL void index_set::erase(std::size_t index) noexcept {
    std::uint64_t& word = words_[index / 64];
    size_ -= (word & bit(index)) != 0;
    word &= ~bit(index);
    if (word == 0) used_[index / 4096] &= ~bit(index / 64);
}

SOTTO_DECL void index_set::clear() noexcept {
    if (size_ == 0) return;
    std::fill(words_.begin(), words_.end(), 0);
    std::fill(used_.begin(), used_.end(), 0);
    size_ = 0;
}

SOTTO_DECL std::size_t index_set::next(std::size_t from) const noexcept {
    if (size_ == 0 || from >= end_) return end_;
    const std::size_t word = from / 64;
    if (const std::uint64_t rest = words_[word] >> from % 64; rest != 0)
        return from + static_cast<std::size_t>(std::countr_zero(rest));
    const std::size_t found = next_word(word + 1);
    return found < words_.size()
               ? 64 * found + static_cast<std::size_t>(std::countr_zero(words_[found]))
               : end_;
}

SOTTO_DECL std::size_t index_set::next_word(std::size_t from) const noexcept {
    if (from >= words_.size()) return words_.size();
    std::size_t block = from / 64;
    std::uint64_t rest = used_[block] >> from % 64 << from % 64;
    while (rest == 0) {
        if (++block == used_.size()) return words_.size();
        rest = used_[block];
    }
    return 64 * block + static_cast<std::size_t>(std::countr_zero(rest));
}

}  // namespace sotto::detail
