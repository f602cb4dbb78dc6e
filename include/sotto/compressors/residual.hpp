#pragma once

#include <cstdint>
#include <span>

#include "sotto/compressors/detail/returned_entries.hpp"
#include "sotto/compressors/detail/versioned_buffer.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/core/visit.hpp"

namespace sotto {

/// Error feedback: what was not sent is added to the next gradient. With top-k this is gradient
/// dropping.
///   math    v += g;  send v[i];  v[i] -= what the receiver will see of v[i]
///   cost    8 bytes a weight
///   source  Aji and Heafield 2017, Sparse communication for distributed gradient descent,
///           arXiv:1704.05021
struct residual {
    static constexpr bool holds_momentum = false;
    class state;
    state bind_memory(const layout& tensors) const;
    void describe(auto&&) const {}
};

class residual::state {
public:
    explicit state(const layout& tensors)
        : tensors_(tensors), unsent_(tensors), returned_(tensors) {}

    std::span<const float> accumulate(const tensor& t, std::span<const float> gradient,
                                      float scale) noexcept;

    void take(const tensor& t, std::span<const std::uint32_t> indices, std::span<const float> sent,
              double) noexcept;

    void take_back(const tensor& t, std::span<const std::uint32_t> indices,
                   std::span<const float> values) noexcept;

    void after_sum(const tensor&, std::span<float>) noexcept {}
    void commit() noexcept;
    void rollback() noexcept;
    void visit(auto&& field, auto&& summed) {
        for (const tensor& t : tensors_)
            if (!summed(t)) field("residual/" + t.name, unsent_.committed(t), kept::apart);
    }

    /// What this rank has not sent yet of a tensor.
    std::span<const float> unsent(const tensor& t) const noexcept { return unsent_.committed(t); }

private:
    layout tensors_;
    detail::versioned_buffer unsent_;
    detail::returned_entries returned_;
};

inline residual::state residual::bind_memory(const layout& tensors) const {
    return state(tensors);
}

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/compressors/residual.ipp"
#endif
