#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sotto/compressors/compressor.hpp"
#include "sotto/compressors/detail/contractive.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/detail/memory/finite.hpp"
#include "sotto/core/layout.hpp"

namespace sotto {

/// Sends another compressor's messages. Each entry becomes the mean over the ranks that sent it.
/// Without this an entry is the mean over all ranks, and a rank that did not send it counts as 0:
/// if N ranks choose different entries, steps are about N times as short.
///   math    of N ranks with messages q_j: entry i is N / n_i times the sum over j of q_j[i], with
///           n_i the ranks whose q_j[i] is not 0. Messages come in weighted by the ranks' shares:
///           of equal ones, 1 / N, that is the mean over the n_i ranks. What a rank sends, and so
///           what the inner compressor remembers, is as without it
///   shape   all ranks are to have equal shares, as in meetings of local_updates
///   wire    the inner compressor's
///   cost    2 bytes a weight, 4 bytes a value of the largest tensor, and a pass over the tensor
///           for each rank's message. Messages are gathered
///   errors  the inner compressor's; begin_round throws invalid_option above 65,535 ranks
///   source  the code published with Sarfi et al. 2025, SparseLoCo, arXiv:2508.15706
template <class Inner>
struct mean_of_senders {
    static_assert(compressor<Inner>,
                  "mean_of_senders: the policy inside must be a compressor: it needs bind(const "
                  "layout&), and its state encode(tensor, span<const float> gradient, bytes& out) "
                  "and decode_add(tensor, byte_view message, span<float> sum)");
    static_assert(!compressor<Inner> || !detail::compressing::has_after_sum<state_of<Inner>>,
                  "mean_of_senders: the compressor inside keeps the sum of all messages by itself, "
                  "so an entry cannot be divided by the ranks that sent it: use "
                  "error_feedback{chunked_top_k{}}");
    static_assert(!detail::holds_momentum<Inner>,
                  "mean_of_senders: the compressor inside applies momentum to what is summed, so "
                  "an entry cannot be divided by the ranks that sent it: use "
                  "error_feedback{chunked_top_k{}}");

    Inner inner{};  // whose messages these are

    static constexpr bool remembers = sotto::detail::remembers<Inner>;
    class state;
    state bind(const layout& tensors) const { return state(*this, tensors); }
    void describe(auto&& field) const { field("inner", inner); }
};

template <class Inner>
mean_of_senders(Inner) -> mean_of_senders<Inner>;

template <class Inner>
class mean_of_senders<Inner>::state {
public:
    state(const mean_of_senders& options, const layout& tensors)
        : tensors_(tensors),
          inner_(options.inner.bind(tensors_)),
          senders_(static_cast<std::size_t>(tensors.size())) {
        std::int64_t largest = 0;
        for (const tensor& t : tensors) largest = (std::max)(largest, t.size);
        message_.resize(static_cast<std::size_t>(largest));
    }

    void begin_round(const round_info& where) {
        if (where.world_size > UINT16_MAX)
            throw invalid_option("mean_of_senders: " + std::to_string(where.world_size) +
                                 " ranks; at most 65535 senders of an entry can be counted");
        ranks_ = static_cast<float>(where.world_size);
        detail::compressing::begin_round(inner_, where);
    }
    void measured(const tensor& t, double squares) {
        detail::compressing::measured(inner_, t, squares);
    }
    bool waits_for_all() const noexcept { return detail::compressing::waits_for_all(inner_); }

    void encode(const tensor& t, std::span<const float> gradient, bytes& out) {
        inner_.encode(t, gradient, out);
    }

    void decode_add(const tensor& t, byte_view message, std::span<float> sum) {
        const auto values = std::span(message_).first(sum.size());
        inner_.decode_add(t, message, values);
        const auto senders = t.of(std::span(senders_));
        for (std::size_t i = 0; i < sum.size(); ++i) {
            const float value = std::exchange(values[i], 0.0f);
            sum[i] += value;
            senders[i] = static_cast<std::uint16_t>(senders[i] + (detail::is_zero(value) ? 0 : 1));
        }
    }

    /// From the sum over all ranks to the mean over the senders.
    void after_sum(const tensor& t, std::span<float> sum) {
        const auto senders = t.of(std::span(senders_));
        for (std::size_t i = 0; i < sum.size(); ++i) {
            if (senders[i] > 0) sum[i] *= ranks_ / static_cast<float>(senders[i]);
            senders[i] = 0;
        }
    }

    std::int64_t message_bytes_max(const tensor& t) const {
        return detail::compressing::message_bytes_max(inner_, t);
    }

    void commit() noexcept { detail::compressing::commit(inner_); }
    void rollback() noexcept {
        std::fill(senders_.begin(), senders_.end(), std::uint16_t{0});
        detail::compressing::rollback(inner_);
    }
    void visit(auto&& field) requires detail::compressing::can_be_saved<state_of<Inner>> {
        detail::compressing::visit(inner_, field);
    }

private:
    layout tensors_;
    state_of<Inner> inner_;
    std::vector<std::uint16_t> senders_;  // of each element; 0 between rounds
    std::vector<float> message_;          // what one message adds; 0 between messages
    float ranks_ = 1.0f;
};

}  // namespace sotto
