#pragma once

#include "sotto/core/layout.hpp"

#include <utility>

#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/printable.hpp"

namespace sotto {

SOTTO_DECL layout& layout::add(std::string name, std::vector<std::int64_t> shape,
                               tensor_kind kind) {
    if (name.empty()) throw invalid_option("layout: a tensor needs a name");
    if (name == reserved_name)
        throw invalid_option(
            "layout: a tensor is named '__metadata__', which safetensors files "
            "use for another purpose; give it another name");
    if (find(name)) throw invalid_option("layout: two tensors are named '" + printable(name) + "'");
    std::int64_t size = 1;
    for (const std::int64_t extent : shape) {
        if (extent < 0 || (extent > 0 && size > (size_max - size_) / extent))
            throw invalid_option("layout: tensor '" + printable(name) + "' has extent " +
                                 std::to_string(extent) +
                                 "; extents are at least 0 and a layout holds at most 2^40 floats");
        size *= extent;
    }
    const auto index = static_cast<std::int64_t>(tensors_.size());
    names_.reserve_one();
    tensors_.push_back({std::move(name), std::move(shape), kind, index, size_, size});
    names_.add(tensors_.back().name);
    size_ += size;
    return *this;
}

SOTTO_DECL const tensor& layout::operator[](std::int64_t index) const noexcept {
    return tensors_[static_cast<std::size_t>(index)];
}

SOTTO_DECL const tensor* layout::find(std::string_view name) const noexcept {
    const auto found = names_.find(
        name, [this](std::size_t index) -> std::string_view { return tensors_[index].name; });
    return found ? &tensors_[*found] : nullptr;
}

}  // namespace sotto
