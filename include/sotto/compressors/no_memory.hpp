#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "sotto/compressors/memory.hpp"
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
    explicit state(const layout& tensors) {
        std::int64_t largest = 0;
        for (const tensor& t : tensors) largest = (std::max)(largest, t.size);
        scaled_.resize(static_cast<std::size_t>(largest));
    }

    std::span<const float> accumulate(const tensor&, std::span<const float> gradient,
                                      float scale) noexcept {
        if (scale == 1.0f) return gradient;
        std::transform(gradient.begin(), gradient.end(), scaled_.begin(),
                       [=](float g) { return scale * g; });
        return std::span(scaled_).first(gradient.size());
    }

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
