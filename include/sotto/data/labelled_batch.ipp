#pragma once

#include "sotto/data/labelled_batch.hpp"

#include "sotto/core/config.hpp"

namespace sotto::data {

SOTTO_DECL void labelled_batch::resize(std::int64_t size, std::int64_t width,
                                       std::int64_t labels_each) {
    size_ = static_cast<std::size_t>(size);
    labels_size_ = size_ * static_cast<std::size_t>(labels_each);
    width_ = static_cast<std::size_t>(width);
    if (inputs_.size() < size_ * width_) inputs_.resize(size_ * width_);
    if (labels_.size() < labels_size_) labels_.resize(labels_size_);
}

}  // namespace sotto::data
