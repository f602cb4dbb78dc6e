#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sotto/compressors/compressor.hpp"
#include "sotto/compressors/detail/whole_vectors.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/random.hpp"
#include "sotto/kernels/detail/quantise/quantise.hpp"
#include "sotto/kernels/detail/simd/reductions.hpp"
#include "sotto/wire/detail/blocks/quantised_block.hpp"

namespace sotto::detail {

/// The state of compressors that send a code for each value and a scale for each bucket, rounded at
/// random. Options have `seed`, `bucket` and `dense_vectors`, and
///   name                                     of the policy, for errors
///   check()                                  throws invalid_option
///   code_bits()                              2, 4 or 8
///   quantise(seed, values, scales, codes)    as kernels::quantise does
/// What is drawn depends on the seed, the rank, the step, the tensor and the value's place alone:
/// ranks draw apart, so that their errors average out, and a round that is repeated is the same.
///   wire    a wire::quantised_block a tensor; with dense_vectors, vectors as they are
template <class Options>
class quantising_state {
public:
    /// Made by `bind` of the options.
    quantising_state(const Options& options, const layout& tensors)
        : options_(checked(options)), vectors_(options.dense_vectors, tensors) {
        std::int64_t most = 0;
        for (const tensor& t : tensors)
            if (!vectors_.has(t)) most = (std::max)(most, wire::buckets_of(shape_of(t)));
        scales_.resize(static_cast<std::size_t>(most));
    }

    void begin_round(const round_info& where) noexcept {
        round_ = random_stream(options_.seed)
                     .split(static_cast<std::uint64_t>(where.rank))
                     .split(static_cast<std::uint64_t>(where.step));
    }

    void encode(const tensor& t, std::span<const float> gradient, bytes& out) {
        if (vectors_.has(t)) return vectors_.encode(gradient, out);
        const auto shape = shape_of(t);
        const auto scales =
            std::span(scales_).first(static_cast<std::size_t>(wire::buckets_of(shape)));
        const std::uint64_t seed = round_.split(static_cast<std::uint64_t>(t.index)).key();
        wire::encode_quantised(shape, scales, out, [&](auto to_scales, auto to_codes) {
            options_.quantise(seed, gradient, to_scales, to_codes);
        });
        if (!std::ranges::all_of(scales, [](float x) { return kernels::is_finite(x); }))
            throw error(errc::non_finite, std::string(Options::name) +
                                              ": what is to be sent of tensor '" + t.name +
                                              "' is not finite: element " +
                                              std::to_string(kernels::first_non_finite(gradient)));
    }

    void decode_add(const tensor& t, byte_view message, std::span<float> sum) {
        if (vectors_.has(t)) return vectors_.decode_add(t, message, sum);
        const auto shape = shape_of(t);
        const auto block = wire::decode_quantised(message, shape, scales_).value(message_of{t});
        const auto bucket = static_cast<std::size_t>(shape.bucket);
        switch (shape.bits) {
            case 2: return kernels::dequantise_add<2>(bucket, block.scales, block.codes, sum);
            case 4: return kernels::dequantise_add<4>(bucket, block.scales, block.codes, sum);
            default: return kernels::dequantise_add<8>(bucket, block.scales, block.codes, sum);
        }
    }

    std::int64_t message_bytes_max(const tensor& t) const noexcept {
        return vectors_.has(t) ? vectors_.message_bytes(t)
                               : wire::encoded_quantised_bytes(shape_of(t));
    }

private:
    /// Before any memory is taken.
    static const Options& checked(const Options& options) {
        constexpr std::int64_t least = 256, most = std::int64_t{1} << 20;
        const std::int64_t bucket = options.bucket;
        if (bucket < least || bucket > most || !std::has_single_bit(std::uint64_t(bucket)))
            throw invalid_option(std::string(Options::name) + ": bucket is " +
                                 std::to_string(bucket) +
                                 "; it must be a power of two from 256 to 2^20");
        options.check();
        return options;
    }

    wire::quantised_shape shape_of(const tensor& t) const noexcept {
        return {t.size, options_.bucket, options_.code_bits()};
    }

    Options options_;
    whole_vectors vectors_;
    random_stream round_;
    std::vector<float> scales_;
};

}  // namespace sotto::detail
