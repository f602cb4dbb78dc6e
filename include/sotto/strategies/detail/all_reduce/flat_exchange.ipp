#pragma once

#include "sotto/strategies/detail/all_reduce/flat_exchange.hpp"

#include <algorithm>
#include <string>

#include "sotto/collectives/detail/choose_sparse.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/result.hpp"
#include "sotto/kernels/detail/simd/reductions.hpp"
#include "sotto/kernels/sparse_add.hpp"
#include "sotto/transports/detail/messaging/blame.hpp"

namespace sotto::detail {

SOTTO_DECL bool flat_exchange::is_summed(const message_codec& codec, const exchange_ways& ways,
                                         const tensor& t) {
    return codec.can.packs && t.size > 0 && codec.sums(t) && !(ways.gathers && codec.gathers(t));
}

SOTTO_DECL flat_exchange::flat_exchange(const tensor& t, const exchange_ways& ways,
                                        message_codec& codec, transport_ref through,
                                        const std::vector<std::uint8_t>& gives, bucket* group)
    : tensor_exchange(t), codec_(codec), through_(through), gives_(&gives), world_(through.size()) {
    if (t.size == 0) return;
    if (is_summed(codec, ways, t)) {
        way_ = way::sum;
        format_ = codec.payload_format(t);
        shared_ = group;
        if (shared_) return;
        payloads_.resize(static_cast<std::size_t>(t.size));
        sum_.emplace(ways.sum(through, t.size, format_));
        return;
    }
    bytes_max_ = codec.message_bytes_max(t);
    message_.reserve(static_cast<std::size_t>(bytes_max_));
    // Sparse sums are applied entry by entry while that touches less memory than a pass over
    // the tensor.
    if (codec.can.sparse) {
        touched_.reserve(static_cast<std::size_t>(t.size / 4));
        run_ends_.reserve(static_cast<std::size_t>(world_));
    }
    way_ = while_sparse_ = way::gather;
    chooses_ = entry_route::chooses(codec, ways);
    if (chooses_) bind_entries(ways, through);
    if (while_sparse_ == way::gather) gather_.emplace(ways.gathering.bind(through, bytes_max_));
}

SOTTO_DECL std::int64_t flat_exchange::send(std::span<const float> gradient, std::int64_t round) {
    if (way_ == way::nothing) return 0;
    if (way_ == way::sum) {
        const auto payload = first_payload(round, true);
        codec_.pack(tensor_, gradient, payload);
        start_sum(round);
        return payload_bytes();
    }
    message_.clear();
    codec_.encode(tensor_, gradient, message_);
    return send_message(round);
}

SOTTO_DECL bool flat_exchange::weighs() const noexcept {
    return way_ != way::nothing && way_ != way::sum && codec_.weighs(tensor_);
}

SOTTO_DECL std::int64_t flat_exchange::send_weighted(std::span<const float> gradient, float weight,
                                                     std::int64_t round) {
    message_.clear();
    codec_.encode_weighted(tensor_, gradient, weight, message_);
    return send_message(round);
}

SOTTO_DECL std::int64_t flat_exchange::send_nothing(std::span<const float> zeros,
                                                    std::int64_t round) {
    if (codec_.can.remembers) return send(zeros, round);
    if (way_ == way::nothing) return 0;
    if (way_ == way::sum) {
        const auto payload = first_payload(round, false);
        std::fill(payload.begin(), payload.end(), 0.0f);
        start_sum(round);
        return 0;
    }
    if (chooses_ && !gathers_now()) {
        start_entries({}, round);
        return 0;
    }
    gather_->start({}, label(channels::messages, round));
    return 0;
}

SOTTO_DECL bool flat_exchange::advance() {
    switch (way_) {
        case way::nothing: return true;
        case way::gather: return gather_->advance();
        case way::reselection:
            return detail::read_from(
                through_, through_.rank(), [this] { return reselection_->advance(); },
                [this] { return " (tensor '" + tensor_.name + "')"; });
        case way::sum:
            if (shared_) return shared_->advance();
            break;
        case way::dense: break;
    }
    while (sum_->advance()) {
        if (payloads_left_ == 0) return true;
        start_next();
    }
    return false;
}

SOTTO_DECL void flat_exchange::abandon() noexcept {
    payloads_left_ = 0;
    if (shared_) shared_->clear();
}

SOTTO_DECL void flat_exchange::decode(std::span<float> sum) {
    if (way_ == way::nothing) return;
    if (way_ == way::sum) {
        codec_.unpack(tensor_, payload_, sum);
        return require_finite(sum);
    }
    touched_.clear();
    run_ends_.clear();
    entry_by_entry_ = codec_.can.sparse && !codec_.can.has_after_sum;
    if (way_ == way::gather) add_messages(sum);
    if (way_ == way::dense) {
        std::copy(payload_.begin(), payload_.end(), sum.begin());
        entry_by_entry_ = false;
    }
    if (way_ == way::reselection) add_sums(sum);
    codec_.after_sum(tensor_, sum);
    if (!entry_by_entry_) require_finite(sum);
}

SOTTO_DECL tensor_exchange::outcome flat_exchange::take_outcome() noexcept {
    if (shared_) shared_->clear();
    return {.is_summed = way_ == way::sum,
            .entry_by_entry = entry_by_entry_,
            .touched = touched_,
            .run_ends = run_ends_};
}

SOTTO_DECL std::int64_t flat_exchange::send_message(std::int64_t round) {
    const auto size = static_cast<std::int64_t>(message_.size());
    if (size > bytes_max_)
        throw invalid_option("all_reduce: the compressor wrote " + std::to_string(size) +
                             " bytes for tensor '" + tensor_.name +
                             "' where its message_bytes_max allows " + std::to_string(bytes_max_));
    if (chooses_ && !gathers_now()) {
        start_entries(codec_.decode(tensor_, message_), round);
        return way_ == way::dense ? 4 * tensor_.size : size;
    }
    gather_->start(message_, label(channels::messages, round));
    return size;
}

SOTTO_DECL tag flat_exchange::label(std::uint32_t channel, std::int64_t round) const noexcept {
    return {channel, static_cast<std::uint32_t>(tensor_.index), static_cast<std::uint64_t>(round)};
}

SOTTO_DECL std::span<float> flat_exchange::first_payload(std::int64_t round, bool has_gradient) {
    round_ = round;
    has_gradient_ = has_gradient;
    payload_count_ = codec_.payload_count(tensor_);
    payloads_left_ = payload_count_ - 1;
    return payload_ = shared_ ? shared_->part_of(codec_, tensor_, round)
                              : room_after(0, size_of_payload(0));
}

SOTTO_DECL void flat_exchange::start_sum(std::int64_t round) {
    if (shared_) return shared_->join();
    sum_->start(payload_, label(channels::sums, round));
}

SOTTO_DECL void flat_exchange::start_next() {
    const int number = payload_count_ - payloads_left_--;
    const std::span<const float> sum = payload_;
    const auto end = static_cast<std::size_t>(sum.data() - payloads_.data()) + sum.size();
    payload_ = room_after(end, size_of_payload(number));
    codec_.pack_next(tensor_, number, sum, payload_);
    if (!has_gradient_) std::fill(payload_.begin(), payload_.end(), 0.0f);
    sum_->start(payload_, label(channels::sums, round_));
}

SOTTO_DECL std::span<float> flat_exchange::room_after(std::size_t start, std::size_t size) {
    if (size > payloads_.size() - start)
        throw invalid_option("all_reduce: the compressor's payloads of tensor '" + tensor_.name +
                             "' have " + std::to_string(start + size) +
                             " values together; at most " + std::to_string(payloads_.size()) +
                             ", the tensor's size, are allowed");
    return std::span(payloads_).subspan(start, size);
}

SOTTO_DECL std::size_t flat_exchange::size_of_payload(int number) const {
    return static_cast<std::size_t>(codec_.payload_size(tensor_, number));
}

SOTTO_DECL std::int64_t flat_exchange::payload_bytes() const {
    std::size_t values = 0;
    for (int number = 0; number < payload_count_; ++number) values += size_of_payload(number);
    return static_cast<std::int64_t>(values) * sotto::wire::bytes_per_value(format_);
}

SOTTO_DECL void flat_exchange::bind_entries(const exchange_ways& ways, transport_ref through) {
    route_ = entry_route(tensor_, codec_, world_, ways);
    if (route_.while_sparse() == collectives::sparse_way::reduce_scatter) {
        way_ = while_sparse_ = way::reselection;
        reselection_.emplace(route_.bind(through));
    }
    if (!route_.may_be_dense()) return;
    payloads_.resize(static_cast<std::size_t>(tensor_.size));
    sum_.emplace(ways.sum(through, tensor_.size, wire::value_format::fp32));
}

SOTTO_DECL bool flat_exchange::gathers_now() {
    way_ = sum_ && route_.is_dense_now(codec_, tensor_) ? way::dense : while_sparse_;
    return way_ == way::gather;
}

SOTTO_DECL void flat_exchange::start_entries(const sparse_view& entries, std::int64_t round) {
    if (way_ == way::reselection)
        return reselection_->start({entries.indices, entries.values},
                                   route_.kept_now(codec_, tensor_),
                                   label(channels::messages, round));
    payload_ = payloads_;
    std::fill(payload_.begin(), payload_.end(), 0.0f);
    for (std::size_t j = 0; j < entries.indices.size(); ++j)
        payload_[entries.indices[j]] = entries.values[j];
    sum_->start(payload_, label(channels::sums, round));
}

SOTTO_DECL void flat_exchange::add_messages(std::span<float> sum) {
    for (int rank = 0; rank < world_; ++rank) {
        const byte_view message = gather_->block_of(rank);
        if (message.empty() && (*gives_)[static_cast<std::size_t>(rank)] == 0) continue;
        detail::read_from(through_, rank, [&] {
            if (codec_.can.sparse)
                add(codec_.decode(tensor_, message), sum);
            else
                codec_.decode_add(tensor_, message, sum);
        });
    }
}

SOTTO_DECL void flat_exchange::add_sums(std::span<float> sum) {
    for (int rank = 0; rank < world_; ++rank) {
        const kernels::sparse_values sums = reselection_->sums_of(rank);
        add({sums.indices, sums.values}, sum);
    }
    const kernels::sparse_values left = reselection_->left();
    if (const std::int64_t j = kernels::first_non_finite(left.values); j >= 0)
        refuse(left.indices[static_cast<std::size_t>(j)]);
    codec_.take_back(tensor_, left.indices, left.values);
}

SOTTO_DECL void flat_exchange::add(const sparse_view& entries, std::span<float> sum) {
    bool finite = true;
    for (std::size_t j = 0; j < entries.indices.size(); ++j) {
        const std::uint32_t i = entries.indices[j];
        if (i >= sum.size())
            throw malformed("the message for tensor '" + tensor_.name + "'",
                            {.expected = "an index below the tensor's size", .found = i});
        sum[i] += entries.values[j];
        finite &= kernels::is_finite(sum[i]);
    }
    if (!finite) require_finite(sum);
    if (touched_.size() + entries.indices.size() > touched_.capacity()) entry_by_entry_ = false;
    if (!entry_by_entry_) return;
    touched_.insert(touched_.end(), entries.indices.begin(), entries.indices.end());
    run_ends_.push_back(touched_.size());
}

SOTTO_DECL void flat_exchange::require_finite(std::span<const float> sum) const {
    if (const std::int64_t i = kernels::first_non_finite(sum); i >= 0) refuse(i);
}

SOTTO_DECL void flat_exchange::refuse(std::int64_t index) const {
    throw error(errc::non_finite, "the sum over all ranks is not finite: tensor '" + tensor_.name +
                                      "', element " + std::to_string(index) +
                                      sotto::wire::range_hint(format_));
}

}  // namespace sotto::detail
