#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sotto/compressors/compressor.hpp"
#include "sotto/compressors/residual.hpp"
#include "sotto/compressors/sparsified.hpp"
#include "sotto/compressors/top_k.hpp"
#include "sotto/compressors/detail/versioned_buffer.hpp"
#include "sotto/core/bytes.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/models/mlp.hpp"

namespace bench {

/// A perceptron whose gradients are multiples of 2^-16, so that hundreds of them and their eighths
/// add up without rounding: books about them balance to the last bit or not at all.
class exact_model : public sotto::models::mlp<> {
public:
    using mlp::mlp;

    double gradient(std::span<const float> parameters, const batch_type& batch,
                    std::span<float> out, auto&& on_ready) {
        return mlp::gradient(parameters, batch, out, [&](const sotto::tensor& t) {
            for (float& value : t.of(out)) value = std::ldexp(std::nearbyint(value * 65536), -16);
            on_ready(t);
        });
    }
};

/// Error feedback that keeps books beside its memory: what of gradients was given to it and what
/// its messages carried, over all rounds that took place.
struct top_k_with_books {
    using whole = sotto::sparsified<sotto::top_k, sotto::residual>;
    static constexpr bool holds_momentum = false;

    double density = 0.05;

    class state : public whole::state {
        using base = whole::state;

    public:
        state(double density, const sotto::layout& tensors)
            : base(whole{.selector = {.density = density}}, tensors),
              tensors_(tensors),
              given_(tensors),
              sent_(tensors),
              taken_back_(tensors.tensors().size()) {}

        void encode(const sotto::tensor& t, std::span<const float> gradient, sotto::bytes& out) {
            const std::size_t start = out.size();
            base::encode(t, gradient, out);
            const auto given = given_.next(t), sent = sent_.next(t);
            for (std::size_t i = 0; i < given.size(); ++i) {
                given[i] = given_.committed(t)[i] + gradient[i];
                sent[i] = sent_.committed(t)[i];
            }
            base::decode_add(t, sotto::byte_view(out).subspan(start), sent);
        }

        void take_back(const sotto::tensor& t, std::span<const std::uint32_t> indices,
                       std::span<const float> values) noexcept {
            taken_back_[static_cast<std::size_t>(t.index)] = {indices, values};
            base::take_back(t, indices, values);
        }

        void commit() noexcept {
            given_.commit();
            sent_.commit();
            for (const sotto::tensor& t : tensors_) {
                const sotto::detail::sparse_view& back =
                    taken_back_[static_cast<std::size_t>(t.index)];
                for (std::size_t j = 0; j < back.indices.size(); ++j)
                    given_.committed(t)[back.indices[j]] += back.values[j];
            }
            forget();
            base::commit();
        }

        void rollback() noexcept {
            given_.rollback();
            sent_.rollback();
            forget();
            base::rollback();
        }

        /// Whether given = sent + remembered at every weight that is not sent dense.
        bool balances() const {
            for (const sotto::tensor& t : tensors_) {
                if (this->sums(t)) continue;
                const auto given = given_.committed(t), sent = sent_.committed(t);
                const auto unsent = this->memory().unsent(t);
                for (std::size_t i = 0; i < given.size(); ++i)
                    if (given[i] != sent[i] + unsent[i]) return false;
            }
            return true;
        }

    private:
        void forget() noexcept { taken_back_.assign(taken_back_.size(), {}); }

        sotto::layout tensors_;
        sotto::detail::versioned_buffer given_, sent_;
        std::vector<sotto::detail::sparse_view> taken_back_;  // in this round, by tensor
    };

    state bind(const sotto::layout& tensors) const { return {density, tensors}; }
    void describe(auto&& field) const { field("density", density); }
};

}  // namespace bench
