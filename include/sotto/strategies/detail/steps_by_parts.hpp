#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "sotto/compressors/compressor.hpp"
#include "sotto/core/bytes.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/kernels/detail/simd/arithmetic.hpp"
#include "sotto/kernels/detail/simd/reductions.hpp"
#include "sotto/optimizers/optimizer.hpp"
#include "sotto/staleness/staleness_compensator.hpp"

namespace sotto::detail {

/// A step by dense messages of which each part is decoded, compensated and applied while it is in
/// the first cache, or both at once where the step is plain SGD's: parameters pass through memory
/// once, and no gradient is written. The same bits as a step by whole tensors.
///   cost    beside the message read twice, first to see that all of it is finite, the memory that
///           must be touched: the parameters, where they go to, what the compensator reads. Once
///           where `can_step_at_once` says so
template <class Compressor, class Compensator, class Optimizer>
class steps_by_parts {
public:
    /// Whether all three can work by parts.
    static constexpr bool possible =
        compressing::decodes_parts<Compressor> && compensating::works_by_parts<Compensator> &&
        !compensating::watches_moves<Compensator> && optimizing::updates_parts<Optimizer>;

    /// Borrows all of them.
    steps_by_parts(const layout& tensors, Compressor& compressor, Compensator& compensator,
                   Optimizer& optimizer)
        : tensors_(&tensors),
          compressor_(&compressor),
          compensator_(&compensator),
          optimizer_(&optimizer) {}

    /// The messages of all tensors, from a rank. Throws what decoding throws, and non_finite;
    /// nothing has changed then.
    void check(std::span<const byte_view> messages, int rank) {
        const auto tensors = tensors_->tensors();
        // The last first: they came last, so they are in a cache.
        for (std::size_t t = tensors.size(); t-- > 0;) check(tensors[t], messages[t], rank);
    }

    /// Whether all of it is plain SGD's step to memory that nobody reads yet: then `step_at_once`
    /// sees itself that all is finite, as what it has written until then is of no use to anybody.
    /// To be asked within a step of the optimizer. Throws what decoding throws.
    bool can_step_at_once(std::span<const byte_view> messages, std::span<const float> now,
                          std::span<const float> read, std::span<const float> next, float weight) {
        if (next.data() == now.data() || !read.empty() || weight != 1.0f ||
            !compensating::descends(*compensator_, false))
            return false;
        std::size_t i = 0;
        bool all = true;
        for (const tensor& t : *tensors_)
            all = compressing::floats_in(*compressor_, t, messages[i++]).has_value() &&
                  optimizing::plain_rate(*optimizer_, t).has_value() && all;
        return all;
    }

    /// Requires that it may. Throws non_finite, and the parameters are `now` then.
    void step_at_once(std::span<const byte_view> messages, std::span<const float> now,
                      std::span<float> next, int rank) {
        std::size_t i = 0;
        for (const tensor& t : *tensors_) {
            const auto floats = *compressing::floats_in(*compressor_, t, messages[i++]);
            const float rate = *optimizing::plain_rate(*optimizer_, t);
            if (!kernels::descend_pushed_if_finite(rate, t.of(next), t.of(now), floats))
                throw non_finite(rank, t.name, kernels::first_non_finite_in(floats));
        }
    }

    /// `read`: the parameters at which the gradient was computed; empty if that is not to be seen.
    /// `next`: where they go to, which may be `now` or `read`.
    void step(std::span<const byte_view> messages, std::span<const float> now,
              std::span<const float> read, std::span<float> next, float weight) {
        std::size_t i = 0;
        for (const tensor& t : *tensors_) {
            const auto mine = [&](auto all) { return t.of(all); };
            step(t, messages[i++], mine(now), read.empty() ? read : mine(read), mine(next), weight);
        }
    }

private:
    void check(const tensor& t, byte_view message, int rank) {
        if (const auto floats = compressing::floats_in(*compressor_, t, message)) {
            if (const auto at = kernels::first_non_finite_in(*floats); at >= 0)
                throw non_finite(rank, t.name, at);
            return;
        }
        for (std::int64_t first = 0; first < t.size; first += part) {
            const auto values = room((std::min)(part, t.size - first));
            compressor_->decode_part(t, message, first, values);
            if (const auto at = kernels::first_non_finite(values); at >= 0)
                throw non_finite(rank, t.name, first + at);
        }
    }

    void step(const tensor& t, byte_view message, std::span<const float> now,
              std::span<const float> read, std::span<float> next, float weight) {
        if (weight == 1.0f && compensating::descends(*compensator_, !read.empty()))
            if (const auto rate = optimizing::plain_rate(*optimizer_, t))
                if (const auto floats = compressing::floats_in(*compressor_, t, message))
                    return compensating::descend(*compensator_, t, *rate, next, now, *floats, read);
        for (std::int64_t first = 0; first < t.size; first += part) {
            const std::int64_t size = (std::min)(part, t.size - first);
            const auto of_part = [&](auto all) {
                return all.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(size));
            };
            const auto gradient = room(size);
            compressor_->decode_part(t, message, first, gradient);
            if (!read.empty())
                compensating::compensate_part(*compensator_, t, first, gradient, of_part(now),
                                              of_part(read));
            if (weight != 1.0f) kernels::scale(gradient, weight);
            const auto to = of_part(next);
            if (next.data() != now.data()) std::copy_n(of_part(now).data(), to.size(), to.data());
            optimizer_->update_part(t, first, to, gradient);
        }
    }

    static constexpr std::int64_t part = 2048;  // 8 KiB: with four arrays 32 KiB

    static std::span<float> room(std::int64_t size) {
        alignas(64) static thread_local float values[part];
        return std::span(values).first(static_cast<std::size_t>(size));
    }

    const layout* tensors_;
    Compressor* compressor_;
    Compensator* compensator_;
    Optimizer* optimizer_;
};

}  // namespace sotto::detail
