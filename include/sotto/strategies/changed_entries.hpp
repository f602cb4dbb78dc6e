#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <utility>
#include <vector>

namespace sotto {

/// Which parameters each of the last steps has moved, so that a worker can be given those that have
/// changed since it read.
///   shape   n parameters; steps are kept while they have moved n / 8 of them together, so that a
///           worker that is further behind is better given all
///   cost    4 bytes for each entry that is kept and a bit a parameter; the entries of some steps
///           are united in one pass over these bits, ascending and each once
class changed_entries {
public:
    explicit changed_entries(std::size_t n) : n_(n), entries_max_(n / 8), marks_(n / 64 + 1) {}

    /// What n parameters take here at most, and what an answer by changes then holds.
    static std::int64_t bytes_max(std::int64_t n) noexcept { return 4 * (n / 8) + n / 8 + 8; }
    static std::int64_t answer_bytes_max(std::int64_t n) noexcept { return 8 * (n / 8); }

    /// The step to this version moved these. They are taken, not copied: what is left is memory of
    /// a step that is forgotten, with anything in it.
    void add(std::uint64_t version, std::vector<std::uint32_t>& indices) {
        if (indices.size() > entries_max_) return add_all(version);
        steps_.push_back({version, std::move(spare_)});
        spare_ = {};
        indices.swap(steps_.back().indices);
        count_ += steps_.back().indices.size();
        while (count_ > entries_max_) {
            count_ -= steps_.front().indices.size();
            known_since_ = steps_.front().version;
            spare_ = std::move(steps_.front().indices);
            steps_.pop_front();
        }
    }

    /// The step to this version moved all, or nobody knows which.
    void add_all(std::uint64_t version) {
        steps_.clear();
        count_ = 0;
        known_since_ = version;
    }

    /// Appends what has moved since a version; false where that is not known, or too much.
    bool since(std::uint64_t version, std::vector<std::uint32_t>& out) {
        if (version < known_since_) return false;
        for (const step& s : steps_)
            if (s.version > version)
                for (const std::uint32_t i : s.indices)
                    marks_[i / 64] |= std::uint64_t{1} << i % 64;
        for (std::size_t at = 0; at < marks_.size(); ++at) {
            for (std::uint64_t bits = marks_[at]; bits != 0; bits &= bits - 1)
                out.push_back(static_cast<std::uint32_t>(
                    64 * at + static_cast<std::size_t>(std::countr_zero(bits))));
            marks_[at] = 0;
        }
        return true;
    }

private:
    struct step {
        std::uint64_t version;
        std::vector<std::uint32_t> indices;
    };

    std::size_t n_, entries_max_;
    std::deque<step> steps_;
    std::vector<std::uint32_t> spare_;  // memory of a step that is forgotten
    std::size_t count_ = 0;
    std::uint64_t known_since_ = 0;
    std::vector<std::uint64_t> marks_;
};

}  // namespace sotto
