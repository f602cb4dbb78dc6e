#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sotto/core/layout.hpp"
#include "sotto/strategies/detail/all_reduce/message_codec.hpp"
#include "sotto/strategies/detail/all_reduce/sum_operation.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto::detail {

/// The payloads of several small tensors, one behind the other, summed as one: a message, and its
/// latency, for all of them. It leaves when the last of them was packed.
///   cost    memory: the payloads at their longest, and the collective's own
///   errors  invalid_option: a payload longer than its tensor
class bucket {
public:
    /// `members` are in the order of their indices, and of one format.
    bucket(std::vector<tensor> members, const message_codec& codec, transport_ref through,
           const bind_sum& bind);

    /// The tensors, in the order of their payloads.
    std::span<const tensor> members() const noexcept { return members_; }

    /// Where a member's payload of this round is to be, and its sum will be.
    std::span<float> part_of(const message_codec& codec, const tensor& t, std::int64_t round);

    /// One more part is as it is to be sent.
    void join();

    /// Whether all are under way, or were.
    bool started() const noexcept { return joined_ == members_.size(); }

    /// Does what can be done without blocking; true once the sum is there.
    bool advance() { return started() && sum_.advance(); }

    /// The round is over, or failed: the next one is to be packed.
    void clear() noexcept { joined_ = 0; }

private:
    static std::size_t total(const std::vector<tensor>& members) noexcept;

    void place(const message_codec& codec);

    std::vector<tensor> members_;
    std::vector<std::span<float>> parts_;  // of this round's payloads, by member
    std::vector<float> payloads_;
    std::size_t used_ = 0;
    std::size_t joined_ = 0;
    std::int64_t round_ = 0;
    sum_operation sum_;  // last: its transfers end before the memory goes
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/detail/all_reduce/bucket.ipp"
#endif
