#pragma once

#include <cstdint>
#include <span>

#include "sotto/compressors/sparsified.hpp"
#include "sotto/kernels/select_top_k.hpp"

namespace sotto {

/// Every entry whose magnitude reaches a fixed limit, however many those are.
///   errors  bind throws invalid_option unless the limit is positive
///   source  Strom 2015, Scalable distributed DNN training using commodity GPU cloud computing
struct threshold {
    double limit = 0.01;                    // least magnitude that is sent, above 0
    static constexpr double density = 1.0;  // as many as there are; schedules do not apply

    class selector_state;
    selector_state bind_selector(const layout& tensors) const;
    auto bind(const layout& tensors) const;
    auto bind_decoder(const layout& tensors) const;
    void describe(auto&& field) const { field("limit", limit); }
};

class threshold::selector_state {
public:
    selector_state(const threshold& options, const layout&);

    void begin_round(const round_info&) noexcept {}

    std::int64_t entries_max(const tensor& t, std::int64_t) const noexcept { return t.size; }
    void reserve(const tensor& t, std::int64_t k) { scratch_.reserve(t.size, k); }

    std::span<const std::uint32_t> select(const tensor&, std::span<const float> values,
                                          std::int64_t);

private:
    float limit_;
    kernels::top_k_scratch scratch_;
};

inline threshold::selector_state threshold::bind_selector(const layout& tensors) const {
    return {*this, tensors};
}

inline auto threshold::bind(const layout& tensors) const {
    return sparsified{*this, no_memory{}}.bind(tensors);
}

inline auto threshold::bind_decoder(const layout& tensors) const {
    return sparsified{*this, no_memory{}}.bind_decoder(tensors);
}

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/compressors/threshold.ipp"
#endif
