#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sotto/compressors/compressor.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/detail/memory/finite.hpp"
#include "sotto/kernels/detail/simd/arithmetic.hpp"
#include "sotto/wire/dense_block.hpp"
#include "sotto/wire/value_format.hpp"

namespace sotto::detail {

/// Every value, in a given number of bits on the wire. What rounding takes away is lost.
///   wire    a wire::dense_block a tensor; when summed, the collective rounds each partial sum it
///           sends
///   errors  decode_add throws malformed; encode and pack throw non_finite, naming the element,
///           where a value is beyond the format
template <wire::value_format Format>
struct dense_values {
    static constexpr bool summable = true;
    static constexpr wire::value_format format = Format;  // of values on the wire

    class state;
    state bind(const layout& tensors) const { return state(tensors); }
    void describe(auto&& field) const { field("format", Format); }
};

template <wire::value_format Format>
class dense_values<Format>::state {
public:
    explicit state(const layout& tensors) {
        std::int64_t largest = 0;
        for (const tensor& t : tensors) largest = (std::max)(largest, t.size);
        decoded_.resize(static_cast<std::size_t>(largest));
        squares_.resize(tensors.tensors().size(), not_measured);
    }

    void measured(const tensor& t, double sum_of_squares) noexcept
        requires(Format == wire::value_format::fp16) {
        squares_[static_cast<std::size_t>(t.index)] = sum_of_squares;
    }

    void encode(const tensor& t, std::span<const float> gradient, bytes& out) {
        require_in_range(t, gradient);
        sotto::wire::encode_dense(gradient, Format, out);
    }

    void decode_add(const tensor& t, byte_view message, std::span<float> sum) {
        const auto values = std::span(decoded_).first(sum.size());
        kernels::add(sum, sotto::wire::decode_dense(message, values).value(message_of{t}));
    }

    void decode_part(const tensor& t, byte_view message, std::int64_t first,
                     std::span<float> values) const {
        (void)sotto::wire::decode_dense_part(message, t.size, first, values).value(message_of{t});
    }

    std::optional<byte_view> floats_in(const tensor& t, byte_view message) const {
        return sotto::wire::dense_floats(message, t.size).value(message_of{t});
    }

    std::int64_t message_bytes_max(const tensor& t) const {
        return sotto::wire::encoded_dense_bytes(t.size, Format);
    }

    bool sums(const tensor&) const noexcept { return true; }
    std::int64_t payload_size(const tensor& t) const noexcept { return t.size; }
    wire::value_format payload_format(const tensor&) const noexcept { return Format; }

    void pack(const tensor& t, std::span<const float> gradient, std::span<float> payload) {
        require_in_range(t, gradient);
        std::copy(gradient.begin(), gradient.end(), payload.begin());
    }

    void unpack(const tensor&, std::span<const float> payload_sum, std::span<float> sum) {
        std::copy(payload_sum.begin(), payload_sum.end(), sum.begin());
    }

private:
    /// A receiver would take what the format turned into infinity for this rank's own.
    void require_in_range(const tensor& t, std::span<const float> values) {
        if constexpr (Format == wire::value_format::fp16) {
            // Where the sum of squares is known, it mostly says that nothing can be.
            constexpr double most = double{sotto::wire::largest_of(Format)};
            const double squares =
                std::exchange(squares_[static_cast<std::size_t>(t.index)], not_measured);
            if (is_finite(squares) && squares >= 0.0 && squares <= most * most) return;
            const std::int64_t i = sotto::wire::first_beyond(Format, values);
            if (i < 0) return;
            throw error(errc::non_finite, "tensor '" + t.name + "', element " + std::to_string(i) +
                                              " is " +
                                              std::to_string(values[static_cast<std::size_t>(i)]) +
                                              sotto::wire::range_hint(Format));
        }
    }

    static constexpr double not_measured = -1.0;
    std::vector<double> squares_;  // of each tensor's gradient in this round
    std::vector<float> decoded_;
};

}  // namespace sotto::detail

namespace sotto {

/// Gradients as they are.
using none = detail::dense_values<wire::value_format::fp32>;
/// 11 bits of mantissa, up to 65504; larger values are an error.
using fp16 = detail::dense_values<wire::value_format::fp16>;
/// 8 bits of mantissa, float's range.
using bf16 = detail::dense_values<wire::value_format::bf16>;

}  // namespace sotto
