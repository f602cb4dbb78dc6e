#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sotto/compressors/sparsified.hpp"
#include "sotto/kernels/select_top_k.hpp"

namespace sotto {

/// The paper's selection: a threshold from a sample of the magnitudes, then everything above it. If
/// far too many pass, exact top-k among those; if too few, the threshold is lowered and the pass
/// repeated; what is over k stays behind.
///   math    sample about s = max(sample_share * n, 2 / density) magnitudes at a regular stride,
///           one past a multiple of 32 where that is near enough, from a random start;
///           threshold = the (density * s)-th largest; more than 1.3 k passing: exact
///           top-k among them; fewer than 0.8 k: threshold *= 0.8 and again, at most 10 times; then
///           the first k by index
///   shape   returns 0.8 k to k entries, fewer only where the values give no more above the lowered
///           threshold
///   cost    one pass over the sample, one to twelve over the values; 12 bytes a value of the
///           largest tensor
///   source  Lin et al. 2018, arXiv:1712.01887, section 5, and the constants of the authors' code
struct sampled_top_k {
    double density = 0.001;      // share of entries that are sent, in (0, 1]
    double sample_share = 0.01;  // of the magnitudes

    class selector_state;
    selector_state bind_selector(const layout& tensors) const;
    auto bind(const layout& tensors) const;
    auto bind_decoder(const layout& tensors) const;
    void describe(auto&& field) const {
        field("density", density);
        field("sample_share", sample_share);
    }
};

class sampled_top_k::selector_state {
public:
    selector_state(const sampled_top_k& options, const layout& tensors);

    void begin_round(const round_info& where) noexcept;

    std::int64_t entries_max(const tensor&, std::int64_t k) const noexcept { return k; }
    void reserve(const tensor& t, std::int64_t) { scratch_.reserve(t.size, t.size); }

    std::span<const std::uint32_t> select(const tensor& t, std::span<const float> values,
                                          std::int64_t k);

private:
    std::span<const std::uint32_t> select_top_k_exactly(std::span<const float> values,
                                                        std::int64_t k);

    /// As bits, which are in the order of the magnitudes, NaN above all.
    std::uint32_t sampled_magnitude(const tensor& t, std::span<const float> values, double share);

    sampled_top_k options_;
    kernels::top_k_scratch scratch_;
    std::vector<std::uint32_t> sample_;
    std::uint64_t step_ = 0;
};

inline sampled_top_k::selector_state sampled_top_k::bind_selector(const layout& tensors) const {
    return {*this, tensors};
}

inline auto sampled_top_k::bind(const layout& tensors) const {
    return sparsified{*this, no_memory{}}.bind(tensors);
}

inline auto sampled_top_k::bind_decoder(const layout& tensors) const {
    return sparsified{*this, no_memory{}}.bind_decoder(tensors);
}

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/compressors/sampled_top_k.ipp"
#endif
