#pragma once

#include "sotto/data/sampler.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

#include "sotto/core/config.hpp"
#include "sotto/core/describe.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/require_option.hpp"

namespace sotto::data {

SOTTO_DECL std::string deal_of(const detail::data::shard& of, std::uint64_t seed,
                               std::int64_t examples) {
    if (of.whole()) return "all to everybody";
    std::string text = std::to_string(examples) + " to " + std::to_string(of.count) + " shards, ";
    sotto::detail::append_number(text, of.common);
    return text + " in common, by seed " + std::to_string(seed);
}

}  // namespace sotto::data

namespace sotto::detail::data {

SOTTO_DECL sampler::sampler(std::int64_t size, share part, std::int64_t batch_size,
                            random_stream random, bool shuffle, const shard& of,
                            random_stream dealing)
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

SOTTO_DECL void sampler::begin_epoch(std::int64_t epoch) {
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

SOTTO_DECL std::int64_t sampler::batches() const noexcept {
    return examples() / batch_size_ + (examples() % batch_size_ != 0 ? 1 : 0);
}

SOTTO_DECL std::span<const std::int64_t> sampler::batch(std::int64_t step) const noexcept {
    if (step < 0 || step >= batches()) return {};
    const std::int64_t first = step * batch_size_;
    return std::span(own_).subspan(
        static_cast<std::size_t>(first),
        static_cast<std::size_t>((std::min)(batch_size_, examples() - first)));
}

SOTTO_DECL void sampler::mix(std::vector<std::int64_t>& order, random_stream random) {
    for (std::size_t left = order.size(); left > 1; --left)
        std::swap(order[left - 1], order[static_cast<std::size_t>(random.below(left))]);
}

SOTTO_DECL void sampler::deal(std::int64_t size, const shard& of, random_stream dealing) {
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

SOTTO_DECL void sampler::refuse(const std::string& option, std::int64_t value,
                                const std::string& expected) {
    throw invalid_option("sampler: " + option + " is " + std::to_string(value) + "; expected " +
                         expected);
}

}  // namespace sotto::detail::data
