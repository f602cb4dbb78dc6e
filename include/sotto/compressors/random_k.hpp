#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sotto/compressors/sparsified.hpp"
#include "sotto/core/random.hpp"

namespace sotto {

/// k entries drawn at random, the same ones on every rank, so that no index is sent and ranks can
/// add up what they send: the one sparse compressor whose cost does not grow with the number of
/// ranks.
///   math    the tensor is cut into k strata of nearly equal length and one entry is drawn from
///           each: an entry's chance is one over its stratum's length, k/n throughout when k
///           divides n
///   cost    O(k)
///   errors  bind throws invalid_option unless 0 < density <= 1
///   source  Stich, Cordonnier, Jaggi 2018, Sparsified SGD with memory, arXiv:1809.07599
struct random_k {
    double density = 0.001;  // share of entries that are drawn, in (0, 1]
    std::uint64_t seed = 0;  // the same on every rank

    static constexpr bool shared = true;
    static constexpr bool summable = true;
    class selector_state;
    selector_state bind_selector(const layout& tensors) const;
    auto bind(const layout& tensors) const;
    auto bind_decoder(const layout& tensors) const;
    void describe(auto&& field) const {
        field("density", density);
        field("seed", seed);
    }
};

class random_k::selector_state {
public:
    selector_state(const random_k& options, const layout& tensors);

    void begin_round(const round_info& where) noexcept;

    std::int64_t entries_max(const tensor&, std::int64_t k) const noexcept { return k; }

    std::span<const std::uint32_t> select(const tensor& t, std::span<const float> values,
                                          std::int64_t k);

private:
    random_stream random_;
    random_stream round_;
    std::vector<std::uint32_t> chosen_;
};

inline random_k::selector_state random_k::bind_selector(const layout& tensors) const {
    return {*this, tensors};
}

inline auto random_k::bind(const layout& tensors) const {
    return sparsified{*this, no_memory{}}.bind(tensors);
}

inline auto random_k::bind_decoder(const layout& tensors) const {
    return sparsified{*this, no_memory{}}.bind_decoder(tensors);
}

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/compressors/random_k.ipp"
#endif
