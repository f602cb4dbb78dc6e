#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sotto/compressors/compressor.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/wire/value_format.hpp"

namespace sotto::detail {

/// The payloads of several small tensors, one behind the other, summed as one: a message, and its
/// latency, for all of them. It leaves when the last of them was packed.
///   cost    memory: the payloads at their longest, and the collective's own
///   errors  invalid_option: a payload longer than its tensor
template <class Compressor, class Summing>
class shared_sum {
    using state = state_of<Compressor>;

public:
    /// `members` are in the order of their indices, and of one format.
    template <class Bind>
    shared_sum(std::vector<tensor> members, const state& compressor, Bind&& bind)
        : members_(std::move(members)),
          parts_(members_.size()),
          payloads_(total(members_)),
          sum_(bind(static_cast<std::int64_t>(payloads_.size()),
                    compressing::payload_format(compressor, members_.front()))) {}

    /// The tensors, in the order of their payloads.
    std::span<const tensor> members() const noexcept { return members_; }

    /// Where a member's payload of this round is to be, and its sum will be.
    std::span<float> part_of(const state& compressor, const tensor& t, std::int64_t round) {
        if (joined_ == 0) place(compressor);
        round_ = round;
        const auto found = std::ranges::lower_bound(members_, t.index, {}, &tensor::index);
        return parts_[static_cast<std::size_t>(found - members_.begin())];
    }

    /// One more part is as it is to be sent.
    void join() {
        if (++joined_ == members_.size())
            sum_.start(std::span(payloads_).first(used_),
                       {channels::sums, static_cast<std::uint32_t>(members_.front().index),
                        static_cast<std::uint64_t>(round_)});
    }

    /// Whether all are under way, or were.
    bool started() const noexcept { return joined_ == members_.size(); }

    /// Does what can be done without blocking; true once the sum is there.
    bool advance() { return started() && sum_.advance(); }

    /// The round is over, or failed: the next one is to be packed.
    void clear() noexcept { joined_ = 0; }

private:
    static std::size_t total(const std::vector<tensor>& members) noexcept {
        std::int64_t values = 0;
        for (const tensor& t : members) values += t.size;
        return static_cast<std::size_t>(values);
    }

    void place(const state& compressor) {
        used_ = 0;
        for (std::size_t i = 0; i < members_.size(); ++i) {
            const tensor& t = members_[i];
            const std::int64_t size = compressing::payload_size(compressor, t, 0);
            if (size > t.size)
                throw invalid_option("all_reduce: the compressor's payload of tensor '" + t.name +
                                     "' has " + std::to_string(size) + " values; at most " +
                                     std::to_string(t.size) + ", the tensor's size, are allowed");
            parts_[i] = std::span(payloads_).subspan(used_, static_cast<std::size_t>(size));
            used_ += static_cast<std::size_t>(size);
        }
    }

    std::vector<tensor> members_;
    std::vector<std::span<float>> parts_;  // of this round's payloads, by member
    std::vector<float> payloads_;
    std::size_t used_ = 0;
    std::size_t joined_ = 0;
    std::int64_t round_ = 0;
    Summing sum_;  // last: its transfers end before the memory goes
};

}  // namespace sotto::detail
