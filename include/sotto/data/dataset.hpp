#pragma once

#include <concepts>
#include <cstdint>
#include <span>

#include "sotto/core/random.hpp"

namespace sotto {

/// Examples that can be read in any order, many at a time.
///   batch_type              default-constructible; kept and refilled, so that its memory is taken
///                           once
///   size()                  how many examples there are
///   gather(indices, batch)  makes the batch hold exactly these examples, in this order; indices
///                           are in 0..size()-1
///
/// A data set may have more:
///   gather(indices, batch, draws)  as above, for training: examples then look different in every
///                                  epoch, by what is drawn from `draws` split by their indices.
///                                  An evaluation reads them plainly
template <class D>
concept dataset = requires(const D& data, std::span<const std::int64_t> indices,
                           typename D::batch_type& batch) {
    requires std::default_initializable<typename D::batch_type>;
    { data.size() } -> std::convertible_to<std::int64_t>;
    data.gather(indices, batch);
};

}  // namespace sotto

namespace sotto::detail {

/// A data set whose examples vary from epoch to epoch: see dataset.
template <class D>
concept varying_dataset = dataset<D> &&
    requires(const D& data, std::span<const std::int64_t> indices, typename D::batch_type& batch,
             random_stream draws) {
    data.gather(indices, batch, draws);
};

}  // namespace sotto::detail

namespace sotto {

/// Reads examples as training does. `draws` is a stream of the epoch, the same for all who read of
/// the same order: what an example looks like then depends on seed, epoch and index, and neither on
/// the rank that reads it nor on the batch that it is in.
template <dataset Data>
void gather_to_train(const Data& data, std::span<const std::int64_t> indices,
                     typename Data::batch_type& batch, const random_stream& draws) {
    if constexpr (detail::varying_dataset<Data>)
        data.gather(indices, batch, draws);
    else
        data.gather(indices, batch);
}

}  // namespace sotto
