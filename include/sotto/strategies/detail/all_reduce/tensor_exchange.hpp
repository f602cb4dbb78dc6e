#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "sotto/core/layout.hpp"
#include "sotto/strategies/detail/all_reduce/bucket.hpp"

namespace sotto::detail {

/// The way of one tensor's gradient to all ranks and back.
class tensor_exchange {
public:
    /// What a round has left for the optimizer.
    struct outcome {
        bool is_summed = false;                    // the sum was written, not added to zeros
        bool entry_by_entry = false;               // all that came is in these runs
        std::span<const std::uint32_t> touched{};  // indices, rank after rank
        std::span<const std::size_t> run_ends{};   // where each rank's end
    };

    explicit tensor_exchange(const tensor& t) : tensor_(t) {}
    tensor_exchange(const tensor_exchange&) = delete;
    tensor_exchange& operator=(const tensor_exchange&) = delete;
    virtual ~tensor_exchange() = default;

    /// With whom this tensor travels; null where it travels alone.
    virtual const bucket* together() const noexcept = 0;

    /// Compresses and sends; returns the bytes that the gradient became.
    virtual std::int64_t send(std::span<const float> gradient, std::int64_t round) = 0;

    /// Whether send_weighted can be called.
    virtual bool weighs() const noexcept { return false; }

    /// As `send` of `weight` times the gradient, see compressor.
    virtual std::int64_t send_weighted(std::span<const float>, float, std::int64_t) { return 0; }

    /// Takes part without a gradient. A compressor that remembers is given zeros, so that what
    /// waits goes on being sent: this rank may never have data, and owns stripes all the same.
    virtual std::int64_t send_nothing(std::span<const float> zeros, std::int64_t round) = 0;

    /// Does what can be done without blocking; true once the exchange is complete.
    virtual bool advance() = 0;

    /// The round failed: no payload of it follows.
    virtual void abandon() noexcept = 0;

    /// What all ranks sent, added up. For tensors that are not sums of payloads `sum` is all zero
    /// beforehand.
    virtual void decode(std::span<float> sum) = 0;

    /// After decode, once a round.
    virtual outcome take_outcome() noexcept = 0;

    /// Takes the optimizer's step of this tensor; the sum may be written over.
    template <class Optimizer>
    void apply(Optimizer& optimizer, bool sparsely, std::span<float> parameters,
               std::span<float> sum) {
        const outcome left = take_outcome();
        if constexpr (requires { optimizer.update_at(tensor_, parameters, sum, left.touched); })
            if (sparsely && left.entry_by_entry) {
                // An index that two ranks sent comes twice; the second time its sum is zero.
                std::size_t from = 0;
                for (const std::size_t to : left.run_ends) {
                    const auto indices = left.touched.subspan(from, to - from);
                    optimizer.update_at(tensor_, parameters, sum, indices);
                    for (const std::uint32_t i : indices) sum[i] = 0.0f;
                    from = to;
                }
                return;
            }
        optimizer.update(tensor_, parameters, sum);
        if (!left.is_summed) std::fill(sum.begin(), sum.end(), 0.0f);
    }

protected:
    const tensor tensor_;
};

}  // namespace sotto::detail
