#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sotto/core/random.hpp"

namespace sotto::detail::data {

/// Which part of the data a rank reads: of an epoch's order, every count-th example from the
/// index-th on. A count of 0 is no part at all.
struct share {
    std::int64_t index = 0;  // below count
    std::int64_t count = 1;  // parts that there are; 0: this is none

    /// Whether it is no part at all.
    constexpr bool empty() const noexcept { return count == 0; }

    friend constexpr bool operator==(const share&, const share&) = default;
};

/// Which examples some ranks read at all, where others train another model: of those that are not
/// everybody's, every count-th from the index-th on.
struct shard {
    std::int64_t index = 0;  // below count
    std::int64_t count = 1;  // shards that there are
    double common = 0.0;     // the part of the data that is everybody's

    /// Whether it has all examples.
    constexpr bool whole() const noexcept { return count == 1 || common == 1.0; }

    friend constexpr bool operator==(const shard&, const shard&) = default;
};

}  // namespace sotto::detail::data

namespace sotto::data {

/// How so many examples are dealt to shards by a run's seed: the same text wherever they are dealt
/// alike, and so another text where what is one's may be another's too.
std::string deal_of(const detail::data::shard& of, std::uint64_t seed, std::int64_t examples);

}  // namespace sotto::data

namespace sotto::detail::data {

/// Deals out the examples of an epoch in batches. Ranks with the same size and stream shuffle
/// alike, so that their shares are disjoint and together the whole epoch; where count does not
/// divide size, the first shares have one example more.
///   math    Fisher-Yates over 0..size-1 with random.split(epoch): an epoch's order does not depend
///           on earlier ones. A shard is dealt once: round(common x size) examples of a shuffle by
///           `dealing` are everybody's, the others go round
///   cost    begin_epoch O(size);  16 bytes an example for one share, 8 (1 + 1 / count) in general,
///           of a shard 8 more;
///           no allocation later
///   errors  invalid_option: size < 0, batch_size < 1, a share that is neither 0 of 0 nor
///           0 <= index < count, a shard that is not 0 <= index < count with a part in common from
///           0 to 1, a negative epoch
class sampler {
public:
    /// Of so many examples, the part of a rank and, where others read others at all, its shard.
    sampler(std::int64_t size, share part, std::int64_t batch_size, random_stream random,
            bool shuffle = true, const shard& of = {}, random_stream dealing = random_stream{});

    /// Deals out the examples of this epoch, which is at least 0.
    void begin_epoch(std::int64_t epoch);

    /// Examples and batches of this share in one epoch; the last batch may be smaller.
    std::int64_t examples() const noexcept { return static_cast<std::int64_t>(own_.size()); }
    /// Batches of this share in one epoch.
    std::int64_t batches() const noexcept;

    /// The examples of batch `step` in 0..batches()-1; empty from there on. Valid until the next
    /// epoch begins.
    std::span<const std::int64_t> batch(std::int64_t step) const noexcept;

private:
    static void mix(std::vector<std::int64_t>& order, random_stream random);

    /// Those of a shard, in the order of the data.
    void deal(std::int64_t size, const shard& of, random_stream dealing);

    [[noreturn]] static void refuse(const std::string& option, std::int64_t value,
                                    const std::string& expected);

    share part_;
    std::int64_t batch_size_;
    random_stream random_;
    bool shuffle_;
    std::vector<std::int64_t> examples_;  // of the shard, where that is not all
    std::vector<std::int64_t> order_;
    std::vector<std::int64_t> own_;
};

}  // namespace sotto::detail::data

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/data/sampler.ipp"
#endif
