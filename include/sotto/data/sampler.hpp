#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sotto/core/describe.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/random.hpp"
#include "sotto/core/require_option.hpp"

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
inline std::string deal_of(const detail::data::shard& of, std::uint64_t seed,
                           std::int64_t examples) {
    if (of.whole()) return "all to everybody";
    std::string text = std::to_string(examples) + " to " + std::to_string(of.count) + " shards, ";
    sotto::detail::append_number(text, of.common);
    return text + " in common, by seed " + std::to_string(seed);
}

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
            bool shuffle = true, const shard& of = {}, random_stream dealing = random_stream{})
        : part_(part), batch_size_(batch_size), random_(random), shuffle_(shuffle) {
        if (size < 0) refuse("size", size, "at least 0");
        if (batch_size < 1) refuse("batch_size", batch_size, "at least 1");
        if (part.count < 0) refuse("share.count", part.count, "at least 0");
        if (part != share{0, 0} && (part.index < 0 || part.index >= part.count))
            refuse("share.index", part.index,
                   part.empty() ? "0, for an empty share"
                                : "0 to " + std::to_string(part.count) + " exclusive, its count");
        if (of.count < 1) refuse("shard.count", of.count, "at least 1");
        if (of.index < 0 || of.index >= of.count)
            refuse("shard.index", of.index, "0 to " + std::to_string(of.count) + " exclusive");
        require_option("sampler", "shard.common", of.common, allowed::at_least(0.0).at_most(1.0));
        if (!part.empty() && !of.whole()) deal(size, of, dealing);
        const std::int64_t there = of.whole() ? size : std::ssize(examples_);
        order_.resize(static_cast<std::size_t>(part.empty() ? 0 : there));
        own_.resize(!part.empty() && part.index < there
                        ? static_cast<std::size_t>((there - part.index - 1) / part.count + 1)
                        : 0);
        begin_epoch(0);
    }

    /// Deals out the examples of this epoch, which is at least 0.
    void begin_epoch(std::int64_t epoch) {
        if (epoch < 0) refuse("epoch", epoch, "at least 0");
        if (examples_.empty())
            std::iota(order_.begin(), order_.end(), std::int64_t{0});
        else
            std::copy(examples_.begin(), examples_.end(), order_.begin());
        if (shuffle_) mix(order_, random_.split(static_cast<std::uint64_t>(epoch)));
        for (std::size_t i = 0; i < own_.size(); ++i)
            own_[i] = order_[static_cast<std::size_t>(part_.index) +
                             i * static_cast<std::size_t>(part_.count)];
    }

    /// Examples and batches of this share in one epoch; the last batch may be smaller.
    std::int64_t examples() const noexcept { return static_cast<std::int64_t>(own_.size()); }
    /// Batches of this share in one epoch.
    std::int64_t batches() const noexcept {
        return examples() / batch_size_ + (examples() % batch_size_ != 0 ? 1 : 0);
    }

    /// The examples of batch `step` in 0..batches()-1; empty from there on. Valid until the next
    /// epoch begins.
    std::span<const std::int64_t> batch(std::int64_t step) const noexcept {
        if (step < 0 || step >= batches()) return {};
        const std::int64_t first = step * batch_size_;
        return std::span(own_).subspan(
            static_cast<std::size_t>(first),
            static_cast<std::size_t>((std::min)(batch_size_, examples() - first)));
    }

private:
    static void mix(std::vector<std::int64_t>& order, random_stream random) {
        for (std::size_t left = order.size(); left > 1; --left)
            std::swap(order[left - 1], order[static_cast<std::size_t>(random.below(left))]);
    }

    /// Those of a shard, in the order of the data.
    void deal(std::int64_t size, const shard& of, random_stream dealing) {
        examples_.resize(static_cast<std::size_t>(size));
        std::iota(examples_.begin(), examples_.end(), std::int64_t{0});
        mix(examples_, dealing);
        const auto common =
            static_cast<std::size_t>(std::llround(of.common * static_cast<double>(size)));
        std::size_t kept = common;
        for (std::size_t i = common + static_cast<std::size_t>(of.index); i < examples_.size();
             i += static_cast<std::size_t>(of.count))
            examples_[kept++] = examples_[i];
        examples_.resize(kept);
        examples_.shrink_to_fit();
        std::sort(examples_.begin(), examples_.end());
    }

    [[noreturn]] static void refuse(const std::string& option, std::int64_t value,
                                    const std::string& expected) {
        throw invalid_option("sampler: " + option + " is " + std::to_string(value) + "; expected " +
                             expected);
    }

    share part_;
    std::int64_t batch_size_;
    random_stream random_;
    bool shuffle_;
    std::vector<std::int64_t> examples_;  // of the shard, where that is not all
    std::vector<std::int64_t> order_;
    std::vector<std::int64_t> own_;
};

}  // namespace sotto::detail::data
