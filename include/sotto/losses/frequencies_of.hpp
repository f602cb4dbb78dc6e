#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "sotto/core/errors.hpp"

namespace sotto::detail {

/// Counts labels, added in any number of calls.
class label_counts {
public:
    explicit label_counts(std::int64_t outputs);

    void add(std::span<const std::int32_t> labels);

    std::vector<double> frequencies() const;

private:
    std::vector<std::int64_t> counts_;
    std::int64_t total_ = 0;
};

/// A data set whose batches have labels.
template <class D>
concept labelled_data = requires(const D& data, std::span<const std::int64_t> indices,
                                 typename D::batch_type& batch) {
    { data.size() } -> std::convertible_to<std::int64_t>;
    data.gather(indices, batch);
    { batch.labels() } -> std::convertible_to<std::span<const std::int32_t>>;
};

}  // namespace sotto::detail

namespace sotto {

/// Returns the frequency of each output among the labels, for smoothed_cross_entropy.
///   math    f[j] = number of labels equal to j / number of labels
///   errors  invalid_option: no outputs; no labels; a label outside 0..outputs-1, naming its
///           position
std::vector<double> frequencies_of(std::span<const std::int32_t> labels, std::int64_t outputs);

/// Returns the frequencies in a data set. A sequence counts with the labels of all its positions.
///   cost    reads the whole data set once, in batches
template <detail::labelled_data Data>
std::vector<double> frequencies_of(const Data& data, std::int64_t outputs) {
    constexpr std::int64_t batch_size = 256;
    detail::label_counts counts(outputs);
    typename Data::batch_type batch;
    std::vector<std::int64_t> indices;
    const std::int64_t size = data.size();
    for (std::int64_t from = 0; from < size; from += batch_size) {
        indices.clear();
        for (std::int64_t i = from; i < (std::min)(size, from + batch_size); ++i)
            indices.push_back(i);
        data.gather(std::span<const std::int64_t>(indices), batch);
        counts.add(static_cast<const typename Data::batch_type&>(batch).labels());
    }
    return counts.frequencies();
}

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/losses/frequencies_of.ipp"
#endif
