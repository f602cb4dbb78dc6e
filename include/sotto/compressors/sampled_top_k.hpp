#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "sotto/compressors/selector.hpp"
#include "sotto/compressors/sparsified.hpp"
#include "sotto/core/random.hpp"
#include "sotto/core/require_option.hpp"
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
    selector_state(const sampled_top_k& options, const layout& tensors) : options_(options) {
        check_density("sampled_top_k", options.density);
        require_option("sampled_top_k", "sample_share", options.sample_share,
                       detail::allowed::above(0.0).at_most(1.0));
        std::int64_t largest = 0;
        for (const tensor& t : tensors) largest = (std::max)(largest, t.size);
        sample_.reserve(static_cast<std::size_t>(largest));
    }

    void begin_round(const round_info& where) noexcept {
        step_ = static_cast<std::uint64_t>(where.step);
    }

    std::int64_t entries_max(const tensor&, std::int64_t k) const noexcept { return k; }
    void reserve(const tensor& t, std::int64_t) { scratch_.reserve(t.size, t.size); }

    std::span<const std::uint32_t> select(const tensor& t, std::span<const float> values,
                                          std::int64_t k) {
        const std::size_t n = values.size(), wanted = static_cast<std::size_t>(k);
        if (wanted == 0 || wanted == n) return select_top_k_exactly(values, k);
        const std::uint32_t sampled =
            sampled_magnitude(t, values, static_cast<double>(k) / static_cast<double>(n));
        float threshold = std::bit_cast<float>(sampled);
        if (sampled > 0x7F800000) return select_top_k_exactly(values, k);
        auto passed = kernels::select_above(values, threshold, scratch_).indices;
        for (int attempt = 0; attempt < 10 && 10 * passed.size() < 8 * wanted; ++attempt) {
            threshold *= 0.8f;
            passed = kernels::select_above(values, threshold, scratch_).indices;
        }
        if (10 * passed.size() > 13 * wanted) return select_top_k_exactly(values, k);
        return passed.first((std::min)(passed.size(), wanted));
    }

private:
    std::span<const std::uint32_t> select_top_k_exactly(std::span<const float> values,
                                                        std::int64_t k) {
        return kernels::select_top_k(values, k, scratch_, kernels::nan_policy::largest).indices;
    }

    /// As bits, which are in the order of the magnitudes, NaN above all.
    std::uint32_t sampled_magnitude(const tensor& t, std::span<const float> values, double share) {
        const auto n = static_cast<double>(values.size());
        const double size =
            (std::min)(n, (std::max)(std::ceil(options_.sample_share * n), 2.0 / share));
        // A multiple of 32 plus 1 does not fall in step with rows of a power-of-two length.
        const double gap = std::ceil(n / size / 32.0) * 32.0 + 1.0;
        const auto stride =
            size < n / 33.0 ? static_cast<std::size_t>(gap) : static_cast<std::size_t>(n / size);
        auto random = random_stream(step_).split(static_cast<std::uint64_t>(t.index));
        sample_.clear();
        for (std::size_t i = random.below(stride); i < values.size(); i += stride)
            sample_.push_back(std::bit_cast<std::uint32_t>(values[i]) & 0x7FFFFFFF);
        const auto rank =
            (std::min)(
                static_cast<std::size_t>(std::ceil(share * static_cast<double>(sample_.size()))),
                sample_.size()) -
            1;
        std::nth_element(sample_.begin(), sample_.begin() + static_cast<std::ptrdiff_t>(rank),
                         sample_.end(), std::greater<>{});
        return sample_[rank];
    }

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
