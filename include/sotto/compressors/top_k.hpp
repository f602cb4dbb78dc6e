#pragma once

#include <cstdint>
#include <span>

#include "sotto/compressors/selector.hpp"
#include "sotto/compressors/sparsified.hpp"
#include "sotto/kernels/select_top_k.hpp"

namespace sotto {

/// The k entries of largest magnitude of each tensor, exactly. By itself a compressor without
/// memory: what is not sent is lost; `sparsified{top_k{...}, residual{}}` remembers it.
///   math    k = ceil(density * n);  of equal magnitudes the lower index
///   wire    see sparsified
///   cost    about one pass over the values; see kernels::select_top_k
///   errors  bind throws invalid_option unless 0 < density <= 1
struct top_k {
    double density = 0.001;  // share of entries that are sent, in (0, 1]

    class selector_state;
    selector_state bind_selector(const layout& tensors) const;
    auto bind(const layout& tensors) const;
    auto bind_decoder(const layout& tensors) const;
    void describe(auto&& field) const { field("density", density); }
};

class top_k::selector_state {
public:
    selector_state(const top_k& options, const layout&) { check_density("top_k", options.density); }

    void begin_round(const round_info&) noexcept {}

    std::int64_t entries_max(const tensor&, std::int64_t k) const noexcept { return k; }
    void reserve(const tensor& t, std::int64_t k) { scratch_.reserve_step(t.size, k); }

    std::span<const std::uint32_t> select(const tensor&, std::span<const float> values,
                                          std::int64_t k);

    /// For a memory that selects while it accumulates.
    kernels::top_k_scratch& exact() noexcept { return scratch_; }

private:
    kernels::top_k_scratch scratch_;
};

inline top_k::selector_state top_k::bind_selector(const layout& tensors) const {
    return {*this, tensors};
}

inline auto top_k::bind(const layout& tensors) const {
    return sparsified{*this, no_memory{}}.bind(tensors);
}

inline auto top_k::bind_decoder(const layout& tensors) const {
    return sparsified{*this, no_memory{}}.bind_decoder(tensors);
}

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/compressors/top_k.ipp"
#endif
