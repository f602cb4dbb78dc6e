#pragma once

#include "sotto/strategies/detail/all_reduce/bucket.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "sotto/core/config.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/transports/transport.hpp"

namespace sotto::detail {

SOTTO_DECL bucket::bucket(std::vector<tensor> members, const message_codec& codec,
                          transport_ref through, const bind_sum& bind)
    : members_(std::move(members)),
      parts_(members_.size()),
      payloads_(total(members_)),
      sum_(bind(through, static_cast<std::int64_t>(payloads_.size()),
                codec.payload_format(members_.front()))) {}

SOTTO_DECL std::span<float> bucket::part_of(const message_codec& codec, const tensor& t,
                                            std::int64_t round) {
    if (joined_ == 0) place(codec);
    round_ = round;
    const auto found = std::ranges::lower_bound(members_, t.index, {}, &tensor::index);
    return parts_[static_cast<std::size_t>(found - members_.begin())];
}

SOTTO_DECL void bucket::join() {
    if (++joined_ == members_.size())
        sum_.start(std::span(payloads_).first(used_),
                   {channels::sums, static_cast<std::uint32_t>(members_.front().index),
                    static_cast<std::uint64_t>(round_)});
}

SOTTO_DECL std::size_t bucket::total(const std::vector<tensor>& members) noexcept {
    std::int64_t values = 0;
    for (const tensor& t : members) values += t.size;
    return static_cast<std::size_t>(values);
}

SOTTO_DECL void bucket::place(const message_codec& codec) {
    used_ = 0;
    for (std::size_t i = 0; i < members_.size(); ++i) {
        const tensor& t = members_[i];
        const std::int64_t size = codec.payload_size(t, 0);
        if (size > t.size)
            throw invalid_option("all_reduce: the compressor's payload of tensor '" + t.name +
                                 "' has " + std::to_string(size) + " values; at most " +
                                 std::to_string(t.size) + ", the tensor's size, are allowed");
        parts_[i] = std::span(payloads_).subspan(used_, static_cast<std::size_t>(size));
        used_ += static_cast<std::size_t>(size);
    }
}

}  // namespace sotto::detail
