#pragma once

#include <cstdint>

#include "sotto/models/gradient_source.hpp"

namespace sotto::detail {

/// One rank's share of one round: what to compute a gradient with, and from what. A strategy calls
/// `model.gradient` at parameters of its own choosing, once or more often.
template <gradient_source Model>
struct round_input {
    Model& model;                             // what computes
    const typename Model::batch_type& batch;  // from what
    std::int64_t examples = 0;  // in the batch; 0: this rank's data are used up for this epoch
    std::int64_t step = 0;      // rounds completed before this one, in all epochs
    double epoch = 0.0;  // passes over the data completed before this one, with their fraction
    const typename Model::batch_type* next = nullptr;  // of the next round, for a strategy that
                                                       // looks ahead; none where it is not known
};

}  // namespace sotto::detail
