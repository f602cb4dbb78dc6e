#pragma once

#include <concepts>
#include <cstdint>
#include <span>

namespace sotto {

/// Examples that can be read in any order, many at a time.
///   batch_type              default-constructible; kept and refilled, so that its memory is taken
///                           once
///   size()                  how many examples there are
///   gather(indices, batch)  makes the batch hold exactly these examples, in this order; indices
///                           are in 0..size()-1
template <class D>
concept dataset = requires(const D& data, std::span<const std::int64_t> indices,
                           typename D::batch_type& batch) {
    requires std::default_initializable<typename D::batch_type>;
    { data.size() } -> std::convertible_to<std::int64_t>;
    data.gather(indices, batch);
};

}  // namespace sotto
