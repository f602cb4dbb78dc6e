#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sotto/core/random.hpp"

namespace sotto::detail::data {

/// The part of an epoch's order that a rank reads: every count-th example from the index-th on. A
/// count of 0 means no part.
struct share {
    std::int64_t index = 0;  // below count
    std::int64_t count = 1;  // number of parts; 0: this one is empty

    /// True if it is no part at all.
    constexpr bool empty() const noexcept { return count == 0; }

    friend constexpr bool operator==(const share&, const share&) = default;
};

/// The subset of the data set that a group of ranks reads when other groups train another model. Of
/// the examples that are not common to all groups, it has every count-th from the index-th on.
struct shard {
    std::int64_t index = 0;  // below count
    std::int64_t count = 1;  // number of shards
    double common = 0.0;     // part of the data that all shards contain

    /// True if it contains all examples.
    constexpr bool whole() const noexcept { return count == 1 || common == 1.0; }

    friend constexpr bool operator==(const shard&, const shard&) = default;
};

}  // namespace sotto::detail::data

namespace sotto::data {

/// Returns a text that describes how a run's seed assigns examples to shards. Equal texts mean
/// equal assignments. Different texts mean that shards may overlap.
std::string deal_of(const detail::data::shard& of, std::uint64_t seed, std::int64_t examples);

}  // namespace sotto::data

namespace sotto::detail::data {

/// Splits the examples of an epoch into batches. Ranks with the same size and stream shuffle alike,
/// so their shares are disjoint and together cover the epoch. If count does not divide size, the
/// first shares have one example more.
///   math    Fisher-Yates over 0..size-1 with random.split(epoch): an epoch's order does not depend
///           on earlier ones. Shards are assigned once: all of them contain the first
///           round(common x size) examples of a shuffle by `dealing`, and the other examples are
///           assigned in turn
///   cost    begin_epoch O(size);  16 bytes per example for one share, 8 (1 + 1 / count) in
///           general, 8 more per example of a shard;  no later allocation
///   errors  invalid_option: size < 0; batch_size < 1; a share that is not 0 of 0 or
///           0 <= index < count; a shard without 0 <= index < count or with a common part outside
///           [0, 1]; a negative epoch
class sampler {
public:
    /// Creates the sampler of one rank's part and, if the data is sharded, of its shard.
    sampler(std::int64_t size, share part, std::int64_t batch_size, random_stream random,
            bool shuffle = true, const shard& of = {}, random_stream dealing = random_stream{});

    /// Selects the examples of this epoch, which is at least 0.
    void begin_epoch(std::int64_t epoch);

    /// Examples of this share in one epoch.
    std::int64_t examples() const noexcept { return static_cast<std::int64_t>(own_.size()); }
    /// Batches of this share in one epoch; the last may be smaller.
    std::int64_t batches() const noexcept;

    /// Returns the examples of batch `step` in 0..batches()-1; empty beyond. Valid until the next
    /// epoch begins.
    std::span<const std::int64_t> batch(std::int64_t step) const noexcept;

private:
    static void mix(std::vector<std::int64_t>& order, random_stream random);

    /// Selects the examples of a shard, in the order of the data.
    void deal(std::int64_t size, const shard& of, random_stream dealing);

    [[noreturn]] static void refuse(const std::string& option, std::int64_t value,
                                    const std::string& expected);

    share part_;
    std::int64_t batch_size_;
    random_stream random_;
    bool shuffle_;
    std::vector<std::int64_t> examples_;  // of the shard; empty if it is the whole set
    std::vector<std::int64_t> order_;
    std::vector<std::int64_t> own_;
};

}  // namespace sotto::detail::data

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/data/sampler.ipp"
#endif
