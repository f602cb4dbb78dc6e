#pragma once
// The only header that includes xtensor, whose headers moved into folders in version 0.26.

#if __has_include(<xtensor/containers/xtensor.hpp>)
#include <xtensor/containers/xadapt.hpp>
#include <xtensor/containers/xtensor.hpp>
#include <xtensor/core/xmath.hpp>
#include <xtensor/core/xnoalias.hpp>
#else
#include <xtensor/xadapt.hpp>
#include <xtensor/xmath.hpp>
#include <xtensor/xnoalias.hpp>
#include <xtensor/xtensor.hpp>
#endif

#include <array>
#include <cstddef>
#include <span>

namespace sotto::nn {

/// Returns a span as a one-dimensional xtensor expression over the same memory, with its shape on
/// the stack. Assign through xt::noalias, which writes the span directly; a plain assignment
/// allocates a temporary first.
template <class T>
auto as_vector(std::span<T> values) {
    return xt::adapt(values.data(), values.size(), xt::no_ownership(),
                     std::array<std::size_t, 1>{values.size()});
}

}  // namespace sotto::nn
