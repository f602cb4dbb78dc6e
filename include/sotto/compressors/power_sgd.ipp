#pragma once

#include "sotto/compressors/power_sgd.hpp"

#include <algorithm>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/memory/finite.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/require_option.hpp"
#include "sotto/kernels/detail/nn/low_rank.hpp"
#include "sotto/kernels/detail/nn/orthonormalise.hpp"
#include "sotto/kernels/detail/simd/arithmetic.hpp"
#include "sotto/kernels/detail/update/momentum.hpp"
#include "sotto/wire/dense_block.hpp"

namespace sotto {

SOTTO_DECL power_sgd::state::state(const power_sgd& options, const layout& tensors, bool encodes)
    : tensors_(tensors),
      plan_(tensors, checked(options).rank, options.min_compression_rate),
      start_after_(options.start_after),
      error_(encodes ? plan_.matrices() : detail::compressing::no_tensors()),
      right_(encodes ? plan_.right() : detail::compressing::no_tensors()),
      left_(static_cast<std::size_t>(encodes ? plan_.left().size() : 0)),
      packed_(tensors.tensors().size()),
      random_(options.seed),
      round_(random_.split("first")) {
    std::int64_t longest = 0, widest = 0;
    for (const tensor& t : tensors) {
        longest = (std::max)(longest, message_size_max(t));
        widest = (std::max)({widest, left_of(t).size, right_of(t).size});
    }
    message_.resize(static_cast<std::size_t>(longest));
    if (!encodes) return;
    wide_.resize(static_cast<std::size_t>(widest));
    for (const tensor& t : tensors)
        if (plan_.compresses(t)) renew(t, right_.committed(right_of(t)));
}

SOTTO_DECL void power_sgd::state::begin_round(const round_info& where) noexcept {
    is_whole_ = where.step < start_after_;
    weight_ = static_cast<float>(where.packed_weight());
    round_ = random_.split(static_cast<std::uint64_t>(where.step));
}

SOTTO_DECL std::int64_t power_sgd::state::payload_size(const tensor& t) const noexcept {
    return goes_as_factors(t) ? left_of(t).size : t.size;
}

SOTTO_DECL void power_sgd::state::pack(const tensor& t, std::span<const float> gradient,
                                       std::span<float> payload) {
    if (!goes_as_factors(t)) {
        std::copy(gradient.begin(), gradient.end(), payload.begin());
        return;
    }
    packed_[slot(t)] = 1;
    detail::kernels::left_factor_of(plan_.shape_of(t), take_in(t, gradient), start_of(t), payload);
}

SOTTO_DECL void power_sgd::state::pack_next(const tensor& t, int,
                                            std::span<const float> payload_sum,
                                            std::span<float> payload) {
    const auto left = left_of(t).of(std::span(left_));
    std::copy(payload_sum.begin(), payload_sum.end(), left.begin());
    const auto shape = plan_.shape_of(t);
    detail::kernels::orthonormalise(shape.rows, left, wide_);
    if (packed_[slot(t)] != 0)
        detail::kernels::right_factor_of(shape, error_.next(matrix_of(t)), left, payload);
}

SOTTO_DECL void power_sgd::state::unpack(const tensor& t, std::span<const float> payload_sum,
                                         std::span<float> sum) {
    if (!goes_as_factors(t)) {
        std::copy(payload_sum.begin(), payload_sum.end(), sum.begin());
        return;
    }
    const auto left = left_of(t).of(std::span<const float>(left_));
    detail::kernels::product_of_factors(plan_.shape_of(t), left, payload_sum, sum);
    if (packed_[slot(t)] != 0)
        detail::kernels::subtract_scaled(error_.next(matrix_of(t)), weight_, sum);
    const auto right = right_.next(right_of(t));
    std::copy(payload_sum.begin(), payload_sum.end(), right.begin());
    renew(t, right);
}

SOTTO_DECL void power_sgd::state::encode(const tensor& t, std::span<const float> gradient,
                                         bytes& out) {
    if (!goes_as_factors(t)) return wire::encode_dense(gradient, wire::value_format::fp32, out);
    const auto shape = plan_.shape_of(t);
    const auto matrix = take_in(t, gradient);
    const auto message = std::span(message_).first(shape.left_size() + shape.right_size());
    const auto left = message.first(shape.left_size()), right = message.last(shape.right_size());
    detail::kernels::left_factor_of(shape, matrix, start_of(t), left);
    detail::kernels::orthonormalise(shape.rows, left, wide_);
    detail::kernels::right_factor_of(shape, matrix, left, right);
    detail::kernels::add_product_of_factors(shape, -1.0f, left, right, matrix);
    wire::encode_dense(message, wire::value_format::fp32, out);
}

SOTTO_DECL void power_sgd::state::decode_add(const tensor& t, byte_view message,
                                             std::span<float> sum) {
    const bool is_whole =
        !plan_.compresses(t) ||
        (start_after_ > 0 &&
         std::ssize(message) == wire::encoded_dense_bytes(t.size, wire::value_format::fp32));
    const auto size = static_cast<std::size_t>(is_whole ? t.size : plan_.factors_size(t));
    const std::span<const float> values =
        wire::decode_dense(message, std::span(message_).first(size)).value(detail::message_of{t});
    if (is_whole) return detail::kernels::add(sum, values);
    const auto shape = plan_.shape_of(t);
    detail::kernels::add_product_of_factors(shape, 1.0f, values.first(shape.left_size()),
                                            values.last(shape.right_size()), sum);
}

SOTTO_DECL std::int64_t power_sgd::state::decoding_bytes() const noexcept {
    return static_cast<std::int64_t>(4 * message_.size());
}

SOTTO_DECL std::int64_t power_sgd::state::message_bytes_max(const tensor& t) const noexcept {
    return wire::encoded_dense_bytes(message_size_max(t), wire::value_format::fp32);
}

SOTTO_DECL void power_sgd::state::commit() noexcept {
    error_.commit();
    right_.commit();
    std::fill(packed_.begin(), packed_.end(), std::uint8_t{0});
}

SOTTO_DECL void power_sgd::state::rollback() noexcept {
    error_.rollback();
    right_.rollback();
    std::fill(packed_.begin(), packed_.end(), std::uint8_t{0});
}

SOTTO_DECL std::span<const float> power_sgd::state::unsent(const tensor& t) const noexcept {
    return error_.committed(matrix_of(t));
}

SOTTO_DECL std::span<const float> power_sgd::state::start_of(const tensor& t) const noexcept {
    return right_.committed(right_of(t));
}

SOTTO_DECL const power_sgd& power_sgd::state::checked(const power_sgd& options) {
    require_option("power_sgd", "rank", options.rank, detail::allowed::at_least(1));
    require_option("power_sgd", "min_compression_rate", options.min_compression_rate,
                   detail::allowed::at_least(1.0));
    require_option("power_sgd", "start_after", options.start_after, detail::allowed::at_least(0),
                   ", a number of rounds");
    return options;
}

SOTTO_DECL std::span<float> power_sgd::state::take_in(const tensor& t,
                                                      std::span<const float> gradient) {
    const auto matrix = error_.next(matrix_of(t));
    detail::kernels::accumulate(gradient, 1.0f, error_.committed(matrix_of(t)), matrix);
    return matrix;
}

SOTTO_DECL void power_sgd::state::renew(const tensor& t, std::span<float> right) {
    const std::size_t columns = plan_.shape_of(t).columns;
    if (detail::kernels::orthonormalise(columns, right, wide_) == 0) return;
    auto random = round_.split(static_cast<std::uint64_t>(t.index));
    for (std::size_t start = 0; start < right.size(); start += columns) {
        const auto column = right.subspan(start, columns);
        if (std::ranges::any_of(column, [](const float& x) { return !detail::is_zero(x); }))
            continue;
        for (float& x : column) x = random.uniform(-1.0f, 1.0f);
    }
    detail::kernels::orthonormalise(columns, right, wide_);
}

SOTTO_DECL bool power_sgd::state::goes_as_factors(const tensor& t) const noexcept {
    return plan_.compresses(t) && !is_whole_;
}

SOTTO_DECL std::int64_t power_sgd::state::message_size_max(const tensor& t) const noexcept {
    return plan_.compresses(t) && start_after_ == 0 ? plan_.factors_size(t) : t.size;
}

}  // namespace sotto
