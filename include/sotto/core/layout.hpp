#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sotto/core/detail/memory/name_index.hpp"

namespace sotto {

/// Purpose of a tensor. Compressors and weight decay treat biases and normalisation differently
/// from weights.
///   bias           added to the products of the weights
///   normalisation  scale and shift of a normalising layer
///   weight         of a matrix or a convolution, and every other tensor
enum class tensor_kind : std::uint8_t { weight, bias, normalisation };

/// One named tensor inside a contiguous span of floats: its place and shape, not its values.
struct tensor {
    std::string name;                        // unique in its layout
    std::vector<std::int64_t> shape;         // extents, slowest first
    tensor_kind kind = tensor_kind::weight;  // how compressors and weight decay treat it
    std::int64_t index = 0;                  // position in the layout
    std::int64_t offset = 0;                 // number of floats before it in the span
    std::int64_t size = 0;                   // number of floats in it: the product of its shape

    /// True for scalars and vectors: biases, normalisation. DGC sends these dense.
    bool is_vector() const noexcept { return shape.size() <= 1; }

    /// Returns this tensor's part of a span that holds the whole layout.
    template <class T>
    std::span<T> of(std::span<T> all) const noexcept {
        return all.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(size));
    }
};

/// Names, shapes and places of a model's tensors, one after another without gaps.
///   shape   size() floats in total; a tensor may have no elements
///   errors  add throws invalid_option: a name that is used twice, empty or `__metadata__`, a
///           negative extent, more than 2^40 floats in total
class layout {
public:
    static constexpr std::int64_t size_max = std::int64_t{1} << 40;    // most floats in a layout
    static constexpr std::string_view reserved_name = "__metadata__";  // no tensor may have it

    /// Appends a tensor.
    layout& add(std::string name, std::vector<std::int64_t> shape,
                tensor_kind kind = tensor_kind::weight);

    /// Returns the number of floats in all tensors.
    std::int64_t size() const noexcept { return size_; }
    /// Returns all tensors, in the order in which they were added.
    std::span<const tensor> tensors() const noexcept { return tensors_; }
    /// Returns the tensor with this index, which must be below tensors().size().
    const tensor& operator[](std::int64_t index) const noexcept;
    /// Returns an iterator to the first tensor.
    auto begin() const noexcept { return tensors_.begin(); }
    /// Returns the end of the tensors.
    auto end() const noexcept { return tensors_.end(); }

    /// Returns the tensor with this name, or null.
    ///   cost    O(1)
    const tensor* find(std::string_view name) const noexcept;

private:
    std::vector<tensor> tensors_;
    detail::name_index names_;
    std::int64_t size_ = 0;
};

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/core/layout.ipp"
#endif
