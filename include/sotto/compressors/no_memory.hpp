#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sotto/core/layout.hpp"

namespace sotto {

/// What is not sent is lost: of a gradient, the density's share arrives. For the ablation.
struct no_memory {
    static constexpr bool holds_momentum = false;
    class state;
    state bind_memory(const layout& tensors) const;
    void describe(auto&&) const {}
};

class no_memory::state {
public:
    explicit state(const layout& tensors);

    std::span<const float> accumulate(const tensor&, std::span<const float> gradient,
                                      float scale) noexcept;

    void take(const tensor&, std::span<const std::uint32_t>, std::span<const float>,
              double) noexcept {}
    void after_sum(const tensor&, std::span<float>) noexcept {}
    void commit() noexcept {}
    void rollback() noexcept {}
    void visit(auto&&, auto&&) {}

private:
    std::vector<float> scaled_;
};

inline no_memory::state no_memory::bind_memory(const layout& tensors) const {
    return state(tensors);
}

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/compressors/no_memory.ipp"
#endif
