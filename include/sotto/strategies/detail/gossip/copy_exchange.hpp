#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sotto/collectives/detail/refuse_mixing.hpp"
#include "sotto/compressors/compressor.hpp"
#include "sotto/core/bytes.hpp"
#include "sotto/core/detail/memory/large_pages.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/kernels/detail/simd/arithmetic.hpp"
#include "sotto/kernels/detail/simd/reductions.hpp"
#include "sotto/strategies/detail/codistillation/tensor_messages.hpp"
#include "sotto/topologies/mixing_matrix.hpp"
#include "sotto/transports/detail/messaging/blame.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto::detail {

/// One rank's side of gossip by copies: what every neighbour knows of it, and how far that is from
/// what it knows of them.
///   math    c_i is what others know of rank i, d_i = sum over j of w_ij (c_j - c_i). A round moves
///           x_i by step d_i, sends q_i = C(x_i - c_i), and then c_i += q_i,
///           d_i += sum over j of w_ij (q_j - q_i). Weights are topologies::summable_weight: where
///           they are alike both ways, what a q adds to all d adds up to 0, but for the rounding of
///           each sum
///   wire    for each tensor and neighbour a message of the compressor; one tag for all of a
///           tensor's in a round
///   cost    20 bytes a parameter and room for one message of each neighbour
///   errors  peer_failure of errc::malformed, naming the sender; mismatch; non_finite
template <class Compressor>
class copy_exchange {
    using state = state_of<Compressor>;

public:
    /// Of one rank, by the links of a matrix that stays.
    copy_exchange(const layout& tensors, const state& compressor,
                  const sotto::topologies::mixing_matrix& matrix, transport_ref through)
        : through_(through),
          tensors_(tensors),
          into_(matrix.into(through.rank()).begin(), matrix.into(through.rank()).end()),
          out_of_(matrix.out_of(through.rank()).begin(), matrix.out_of(through.rank()).end()),
          own_(static_cast<std::size_t>(tensors.size())),
          apart_(static_cast<std::size_t>(tensors.size())),
          own_before_(own_.size()),
          apart_before_(own_.size()),
          difference_(own_.size()),
          messages_(tensors, compressor, into_.size(), out_of_.size(), through) {
        for (const auto& n : into_) weight_ += sotto::topologies::summable_weight(n.weight);
    }

    /// Moves `values` towards the neighbours' copies, and sends what changes this rank's own.
    /// Returns the sum of squares of the move.
    double start(state& compressor, std::span<float> values, double step, std::uint64_t round) {
        const auto factor = static_cast<float>(step);
        double moved = 0.0;
        for (const tensor& t : tensors_) {
            const auto x = t.of(values);
            const auto d = t.of(std::span<const float>(apart_));
            const auto difference = t.of(std::span(difference_));
            kernels::subtract_scaled(x, -factor, d);
            moved += step * step * kernels::sum_of_squares(d);
            std::copy(x.begin(), x.end(), difference.begin());
            kernels::subtract_scaled(difference, 1.0f, t.of(std::span<const float>(own_)));
            const double squares = kernels::sum_of_squares(difference);
            if (!kernels::is_finite(squares))
                throw non_finite(through_.rank(), t.name, kernels::first_non_finite(x));
            compressing::measured(compressor, t, squares);
        }
        through_.charge({.bytes = 32.0 * static_cast<double>(tensors_.size())});
        messages_.begin();
        for (const tensor& t : tensors_)
            messages_.send(t, {channels::gossip, static_cast<std::uint32_t>(2 + t.index), round},
                           into_, out_of_, [&](bytes& out) {
                               compressor.encode(t, t.of(std::span<const float>(difference_)), out);
                           });
        return moved;
    }

    /// Whether all messages of the round have come.
    bool advance() { return messages_.advance(); }

    /// When all is here: whether all of it can be decoded.
    void check(state& compressor) {
        each_message(compressor,
                     [this](const tensor& t, std::span<const float> sum, int from, float) {
                         if (from != through_.rank()) require_finite(t, sum, from);
                     });
        is_checked_ = true;
        through_.charge({.bytes = 24.0 * static_cast<double>(tensors_.size()) *
                                  static_cast<double>(into_.size() + 1)});
    }

    /// Copies become what all ranks have them for after the round that was checked, if there was
    /// one, and the step goes on. Copies as they were before the step are kept until it is over.
    void settle(state& compressor) {
        if (!is_checked_) return;
        if (!std::exchange(is_settled_, true)) {
            std::ranges::copy(own_, own_before_.begin());
            std::ranges::copy(apart_, apart_before_.begin());
        }
        take_in(compressor);
    }

    /// The same, as the last of the step, which took place; or it did not.
    void commit(state& compressor) noexcept {
        if (is_checked_) take_in(compressor);
        is_settled_ = false;
    }
    /// Copies are again as after the last step.
    void rollback() noexcept {
        is_checked_ = false;
        if (!std::exchange(is_settled_, false)) return;
        own_.swap(own_before_);
        apart_.swap(apart_before_);
    }

    /// Of this rank's last message.
    std::int64_t message_bytes(const tensor& t) const noexcept {
        return std::ssize(messages_.own(t));
    }

    void visit(auto&& field) {
        field("copy/own", std::span<float>(own_));
        field("copy/apart", std::span<float>(apart_));
    }

private:
    /// Calls with what each message says: the neighbours' and, last, this rank's own.
    template <class Take>
    void each_message(state& compressor, Take take) {
        for (const tensor& t : tensors_) {
            const auto sum = t.of(std::span(difference_));
            for (std::size_t i = 0; i <= into_.size(); ++i) {
                const bool own = i == into_.size();
                std::fill(sum.begin(), sum.end(), 0.0f);
                const byte_view message = own ? messages_.own(t) : messages_.from(t, i);
                const int from = own ? through_.rank() : into_[i].rank;
                detail::read_from(through_, from, [&] { compressor.decode_add(t, message, sum); });
                take(t, std::span<const float>(sum), from,
                     own ? -weight_ : sotto::topologies::summable_weight(into_[i].weight));
            }
        }
    }

    void take_in(state& compressor) {
        is_checked_ = false;
        each_message(compressor,
                     [this](const tensor& t, std::span<const float> what, int from, float weight) {
                         kernels::subtract_scaled(t.of(std::span(apart_)), -weight, what);
                         if (from == through_.rank()) kernels::add(t.of(std::span(own_)), what);
                     });
    }

    static void require_finite(const tensor& t, std::span<const float> what, int from) {
        if (const std::int64_t i = kernels::first_non_finite(what); i >= 0)
            collectives::refuse_mixing(from,
                                       "tensor '" + t.name + "', element " + std::to_string(i));
    }

    transport_ref through_;
    const layout& tensors_;
    std::vector<topologies::neighbour> into_, out_of_;
    float weight_ = 0.0f;  // of all that comes in
    large_vector<float> own_, apart_;
    large_vector<float> own_before_, apart_before_;  // this step, where it has several rounds
    large_vector<float> difference_;
    bool is_checked_ = false;  // a round whose messages are not in the copies yet
    bool is_settled_ = false;  // rounds of this step are
    // Last: transfers end before the memory goes.
    tensor_messages messages_;
};

}  // namespace sotto::detail
