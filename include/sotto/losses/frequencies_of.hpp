#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sotto/core/errors.hpp"

namespace sotto::detail {

/// Counts labels, in any number of parts.
class label_counts {
public:
    explicit label_counts(std::int64_t outputs) {
        if (outputs < 1)
            throw invalid_option("frequencies_of: there are " + std::to_string(outputs) +
                                 " outputs; expected at least 1");
        counts_.resize(static_cast<std::size_t>(outputs));
    }

    void add(std::span<const std::int32_t> labels) {
        for (const std::int32_t label : labels) {
            if (label < 0 || static_cast<std::size_t>(label) >= counts_.size())
                throw invalid_option("frequencies_of: label " + std::to_string(total_) + " is " +
                                     std::to_string(label) + "; expected 0 to " +
                                     std::to_string(counts_.size()) +
                                     " exclusive, the number of outputs");
            ++counts_[static_cast<std::size_t>(label)];
            ++total_;
        }
    }

    std::vector<double> frequencies() const {
        if (total_ == 0)
            throw invalid_option("frequencies_of: there are no labels; expected at least 1");
        std::vector<double> all(counts_.size());
        for (std::size_t j = 0; j < all.size(); ++j)
            all[j] = static_cast<double>(counts_[j]) / static_cast<double>(total_);
        return all;
    }

private:
    std::vector<std::int64_t> counts_;
    std::int64_t total_ = 0;
};

/// A data set whose batches show labels.
template <class D>
concept labelled_data = requires(const D& data, std::span<const std::int64_t> indices,
                                 typename D::batch_type& batch) {
    { data.size() } -> std::convertible_to<std::int64_t>;
    data.gather(indices, batch);
    { batch.labels() } -> std::convertible_to<std::span<const std::int32_t>>;
};

}  // namespace sotto::detail

namespace sotto {

/// How often each output is the label: what smoothed_cross_entropy smooths towards.
///   math    f[j] = labels that are j / labels
///   errors  invalid_option: no outputs, no labels, a label outside 0..outputs-1, naming its place
inline std::vector<double> frequencies_of(std::span<const std::int32_t> labels,
                                          std::int64_t outputs) {
    detail::label_counts counts(outputs);
    counts.add(labels);
    return counts.frequencies();
}

/// Of the labels of a data set, of a sequence at each of its positions.
///   cost    all of it is read once, in batches
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
