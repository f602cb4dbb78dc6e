#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sotto/core/random.hpp"

namespace sotto {

/// Cross-entropy with targets smoothed towards given output frequencies, such as label frequencies
/// in the data (unigram smoothing):
/// `smoothed_cross_entropy{.smoothing = 0.1, .towards = frequencies_of(data, 10)}`. With equal
/// frequencies it is cross_entropy with label_smoothing.
///   math    p = softmax(z);  target t = (1 - s) onehot(y) + s f, s the smoothing and f the
///           frequencies
///           loss = mean of -sum t log p = log(sum exp z) - sum t z
///           gradient = (p - t) / examples
///   cost    one multiplication per output more than cross_entropy
///   errors  invalid_option: smoothing outside [0, 1); not one frequency per output; a frequency
///           that is negative or infinite; a sum further than 1e-6 from 1; else as every loss.
///           Ranks that train together need equal frequencies; different ones are a mismatch
///   source  as a baseline: Anil et al. 2018, arXiv:1804.03235. Smoothing towards unigrams: Pereyra
///           et al. 2017, Regularizing neural networks by penalizing confident output
///           distributions, arXiv:1701.06548
struct smoothed_cross_entropy {
    double smoothing = 0.1;         // in [0, 1): part of each target that is spread by `towards`
    std::vector<double> towards{};  // frequencies of the outputs; their sum is 1

    double value(std::span<const float> logits, std::span<const std::int32_t> labels) const;

    double gradient(std::span<const float> logits, std::span<const std::int32_t> labels,
                    std::span<float> out) const;

    /// Describes frequencies by a digest, because there may be tens of thousands.
    void describe(auto&& field) const {
        field("smoothing", smoothing);
        field("frequencies", static_cast<std::uint64_t>(towards.size()));
        random_stream digest;
        for (const double f : towards) digest = digest.split(std::bit_cast<std::uint64_t>(f));
        field("digest", digest.bits64());
    }

private:
    static constexpr const char* name = "smoothed_cross_entropy";

    static void refuse(const std::string& what, const std::string& expected);

    void check(std::size_t logits, std::size_t labels) const;

    // sum t (z - top)
    double wanted(std::span<const float> row, std::size_t label, float top) const;
};

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/losses/smoothed_cross_entropy.ipp"
#endif
