#pragma once

#include <cstdint>
#include <span>

#include "sotto/compressors/detail/returned_entries.hpp"
#include "sotto/compressors/detail/versioned_buffer.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/core/visit.hpp"
#include "sotto/kernels/dgc_step.hpp"
#include "sotto/kernels/select_top_k.hpp"

namespace sotto {

/// Error feedback over velocities: momentum is applied on each worker before the accumulation, so
/// that an entry which waits T steps is not short of the T - 1 steps of momentum in between. The
/// optimizer must then be plain SGD.
///   math    u = m u + g;  v += u  (Nesterov: v += m u + g);  send v[i];  v[i] -= what the receiver
///           will see of it; with masking also u[i] = 0, so that a stale velocity does not go on
///           pushing an entry just sent. For a constant gradient g and period T, one message
///           carries g (T / (1 - m) - m (1 - m^T) / (1 - m)^2) with masking: at T = 4 and m = 0.9
///           that is 0.23 of dense momentum's step, at T = 1000 it is 0.99. `mask_from_sparsity`
///           keeps masking off while messages are denser than that. Tensors exchanged dense get u =
///           m u + g after the sum, the same on all ranks; on the way to a server each worker
///           applies it to its own, which add up to the same.
///   cost    16 bytes a weight
///   errors  bind throws invalid_option unless 0 <= momentum < 1 and 0 <= mask_from_sparsity <= 1
///   source  Lin et al. 2018, Deep Gradient Compression, arXiv:1712.01887, sections 3.1 and 3.2
struct momentum_corrected {
    double momentum = 0.9;            // m, in [0, 1)
    bool nesterov = false;            // whether v takes the step ahead along u
    bool mask = true;                 // whether u of an entry that is sent becomes 0
    double mask_from_sparsity = 0.0;  // in [0, 1]; see math

    static constexpr bool holds_momentum = true;
    class state;
    state bind_memory(const layout& tensors) const;
    void describe(auto&& field) const {
        field("momentum", momentum);
        field("nesterov", nesterov);
        field("mask", mask);
        field("mask_from_sparsity", mask_from_sparsity);
    }
};

class momentum_corrected::state {
public:
    state(const momentum_corrected& options, const layout& tensors);

    std::span<const float> accumulate(const tensor& t, std::span<const float> gradient,
                                      float scale) noexcept;

    /// accumulate, top-k and take in one pass over memory, bit for bit.
    kernels::selection step(const tensor& t, std::span<const float> gradient, float scale,
                            std::int64_t k, double sparsity, kernels::top_k_scratch& scratch) {
        return kernels::dgc_step(
            {.momentum = momentum(), .nesterov = options_.nesterov, .gradient_scale = scale},
            {gradient, velocity_.committed(t), accumulated_.committed(t), velocity_.next(t),
             accumulated_.next(t), tensors_.size() >= streamed_from},
            k, masks(sparsity), scratch);
    }

    void give_back(const tensor& t, std::span<const std::uint32_t> indices,
                   std::span<const float> rests) noexcept;

    void take(const tensor& t, std::span<const std::uint32_t> indices, std::span<const float> sent,
              double sparsity) noexcept;

    /// Into what has accumulated: velocities went in when the entries were sent.
    void take_back(const tensor& t, std::span<const std::uint32_t> indices,
                   std::span<const float> values) noexcept;

    void after_sum(const tensor& t, std::span<float> sum) noexcept;

    void commit() noexcept;

    void rollback() noexcept;

    void visit(auto&& field, auto&& summed) {
        for (const tensor& t : tensors_) {
            if (summed(t)) {
                field("momentum/" + t.name, velocity_.committed(t), kept::alike);
            } else {
                field("velocity/" + t.name, velocity_.committed(t), kept::apart);
                field("residual/" + t.name, accumulated_.committed(t), kept::apart);
            }
        }
    }

    /// `u` of a tensor after the last round.
    std::span<const float> velocity(const tensor& t) const noexcept;

    /// What this rank has not sent yet of a tensor.
    std::span<const float> unsent(const tensor& t) const noexcept;

private:
    /// Weights from which on caches do not keep until the next round what this one wrote.
    static constexpr std::int64_t streamed_from = 4 << 20;

    bool masks(double sparsity) const noexcept;
    float momentum() const noexcept { return static_cast<float>(options_.momentum); }

    momentum_corrected options_;
    layout tensors_;
    detail::versioned_buffer velocity_;
    detail::versioned_buffer accumulated_;
    detail::returned_entries returned_;
};

inline momentum_corrected::state momentum_corrected::bind_memory(const layout& tensors) const {
    return state(*this, tensors);
}

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/compressors/momentum_corrected.ipp"
#endif
