#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

namespace sotto::detail {

/// Which parameters each of the last steps has moved, so that a worker can be given those that have
/// changed since it read.
///   shape   n parameters; steps are kept while they have moved n / 8 of them together, and are not
///           more than 4096, so that a worker that is further behind is better given all
///   cost    4 bytes for each of n / 8 entries, taken once, a bit a parameter, and 24 bytes a step.
///           The entries of some steps are united in one pass over these bits, ascending and each
///           once
class changed_entries {
public:
    static constexpr std::size_t steps_max = 4096;  // kept at once, at most

    /// Of so many parameters, none of which has changed.
    explicit changed_entries(std::size_t n) : ring_(n / 8), marks_(n / 64 + 1) {}

    /// What n parameters take here.
    static std::int64_t bytes_max(std::int64_t n) noexcept { return 4 * (n / 8) + n / 8 + 8; }
    /// How many an answer by changes can hold.
    static std::int64_t entries_max(std::int64_t n) noexcept { return n / 8; }

    /// The step to this version moves so many, each of which is then added; false, and none is,
    /// where these are too many.
    bool begin(std::uint64_t version, std::size_t count);
    /// Those at these places from a parameter on.
    void add(std::uint32_t from, std::span<const std::uint32_t> indices);
    /// All of so many from a parameter on.
    void add_run(std::uint32_t from, std::size_t count);

    /// The step to this version moved all, or nobody knows which.
    void add_all(std::uint64_t version);

    /// Appends what has moved since a version; false where that is not known, or too much.
    bool since(std::uint64_t version, std::vector<std::uint32_t>& out);

private:
    template <class Number>
    void add_each(std::size_t count, Number number) {
        const std::size_t before_wrap = (std::min)(count, ring_.size() - end_);
        std::uint32_t* const to = ring_.data() + end_;
        for (std::size_t k = 0; k < before_wrap; ++k) to[k] = number(k);
        for (std::size_t k = before_wrap; k < count; ++k) ring_[k - before_wrap] = number(k);
        end_ = before_wrap < count ? count - before_wrap : end_ + count;
        if (end_ == ring_.size()) end_ = 0;
    }

    struct step {
        std::uint64_t version;
        std::size_t begin, size;  // in the ring
    };

    std::vector<std::uint32_t> ring_;
    std::deque<step> steps_;
    std::size_t end_ = 0, count_ = 0;  // of the ring
    std::uint64_t known_since_ = 0;
    std::vector<std::uint64_t> marks_;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/detail/parameter_server/changed_entries.ipp"
#endif
