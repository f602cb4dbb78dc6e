#pragma once

#include <concepts>
#include <cstdint>
#include <span>

#include "sotto/core/random.hpp"

namespace sotto {

/// Examples that can be read in any order, many at a time.
///   batch_type              default-constructible; reused, so that it allocates once
///   size()                  number of examples
///   gather(indices, batch)  makes the batch hold exactly these examples, in this order; indices
///                           are in 0..size()-1
///
/// Optional:
///   gather(indices, batch, draws)  as above, for training: examples vary in every epoch, by draws
///                                  from `draws` split by their indices. An evaluation reads them
///                                  unchanged
template <class D>
concept dataset = requires(const D& data, std::span<const std::int64_t> indices,
                           typename D::batch_type& batch) {
    requires std::default_initializable<typename D::batch_type>;
    { data.size() } -> std::convertible_to<std::int64_t>;
    data.gather(indices, batch);
};

}  // namespace sotto

namespace sotto::detail {

/// A data set whose examples vary between epochs, see dataset.
template <class D>
concept varying_dataset = dataset<D> &&
    requires(const D& data, std::span<const std::int64_t> indices, typename D::batch_type& batch,
             random_stream draws) {
    data.gather(indices, batch, draws);
};

}  // namespace sotto::detail

namespace sotto {

/// Reads examples for training. `draws` is a stream of the epoch, equal on all ranks that read the
/// same order. How an example varies then depends only on seed, epoch and index, not on its rank or
/// batch.
template <dataset Data>
void gather_to_train(const Data& data, std::span<const std::int64_t> indices,
                     typename Data::batch_type& batch, const random_stream& draws) {
    if constexpr (detail::varying_dataset<Data>)
        data.gather(indices, batch, draws);
    else
        data.gather(indices, batch);
}

}  // namespace sotto
