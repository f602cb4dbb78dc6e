#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sotto/core/detail/memory/name_index.hpp"

namespace sotto {

/// What a tensor is for. Compressors and weight decay treat biases and normalisation apart from
/// weights.
///   bias           added to what weights make
///   normalisation  scale and shift of a normalising layer
///   weight         of a matrix or a convolution, or whatever is none of the others
enum class tensor_kind : std::uint8_t { weight, bias, normalisation };

/// One named tensor inside a contiguous span of floats: where it is and what shape it has, not its
/// values.
struct tensor {
    std::string name;                        // unique in its layout
    std::vector<std::int64_t> shape;         // extents, the slowest first
    tensor_kind kind = tensor_kind::weight;  // treated as this by compressors and weight decay
    std::int64_t index = 0;                  // position in the layout
    std::int64_t offset = 0;                 // floats before it in the span
    std::int64_t size = 0;                   // floats in it: the product of its shape

    /// Scalars and vectors: biases, normalisation. DGC sends these dense.
    bool is_vector() const noexcept { return shape.size() <= 1; }

    /// This tensor's part of a span that holds the whole layout.
    template <class T>
    std::span<T> of(std::span<T> all) const noexcept {
        return all.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(size));
    }
};

/// The names, shapes and places of a model's tensors, one after another without gaps.
///   shape   size() floats in all; a tensor may have no elements
///   errors  add throws invalid_option: a name used twice, empty or `__metadata__`, a negative
///           extent, more than 2^40 floats in all
class layout {
public:
    static constexpr std::int64_t size_max = std::int64_t{1} << 40;    // floats in a layout at most
    static constexpr std::string_view reserved_name = "__metadata__";  // of no tensor

    /// Appends a tensor.
    layout& add(std::string name, std::vector<std::int64_t> shape,
                tensor_kind kind = tensor_kind::weight);

    /// Floats in all.
    std::int64_t size() const noexcept { return size_; }
    /// All tensors, in the order in which they were added.
    std::span<const tensor> tensors() const noexcept { return tensors_; }
    /// The tensor of this index, below tensors().size().
    const tensor& operator[](std::int64_t index) const noexcept;
    /// Where a loop over the tensors begins.
    auto begin() const noexcept { return tensors_.begin(); }
    /// Where it ends.
    auto end() const noexcept { return tensors_.end(); }

    /// The tensor of this name; null if there is none.
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
