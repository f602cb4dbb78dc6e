#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sotto/collectives/flight.hpp"
#include "sotto/collectives/refuse_mixing.hpp"
#include "sotto/compressors/compressor.hpp"
#include "sotto/core/bytes.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/large_pages.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/kernels/arithmetic.hpp"
#include "sotto/kernels/averaging.hpp"
#include "sotto/kernels/reductions.hpp"
#include "sotto/topologies/mixing_matrix.hpp"
#include "sotto/transports/transport.hpp"

namespace sotto {

/// One rank's side of gossip by copies: what every neighbour knows of it, and how far that is from
/// what it knows of them.
///   math    c_i is what others know of rank i, d_i = sum over j of w_ij (c_j - c_i). A round moves
///           x_i by step d_i, sends q_i = C(x_i - c_i), and then c_i += q_i,
///           d_i += sum over j of w_ij (q_j - q_i)
///   wire    for each tensor and neighbour a message of the compressor; one tag for all of a
///           tensor's in a round
///   cost    12 bytes a parameter and room for one message of each neighbour
///   errors  malformed; mismatch; non_finite
template <class Compressor, transport Transport>
class copy_exchange {
    using state = state_of<Compressor>;

public:
    copy_exchange(const layout& tensors, const state& compressor,
                  const topologies::mixing_matrix& matrix, Transport& through)
        : through_(&through),
          tensors_(tensors),
          into_(matrix.into(through.rank()).begin(), matrix.into(through.rank()).end()),
          out_of_(matrix.out_of(through.rank()).begin(), matrix.out_of(through.rank()).end()),
          own_(static_cast<std::size_t>(tensors.size())),
          apart_(static_cast<std::size_t>(tensors.size())),
          difference_(static_cast<std::size_t>(tensors.size())),
          messages_(tensors.tensors().size()),
          arrived_(tensors.tensors().size() * into_.size()),
          receives_(through, arrived_.size()),
          sends_(through, tensors.tensors().size() * out_of_.size()) {
        for (const auto& n : into_) weight_ += n.weight;
        for (const tensor& t : tensors_) {
            const auto room =
                static_cast<std::size_t>(compressing::message_bytes_max(compressor, t));
            messages_[slot(t)].reserve(room);
            for (std::size_t i = 0; i < into_.size(); ++i)
                arrived_[place(t, i)].memory.resize(room);
        }
        through.reserve(std::ssize(arrived_) +
                        std::ssize(messages_) * static_cast<std::int64_t>(out_of_.size()));
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
                throw non_finite(through_->rank(), t.name, kernels::first_non_finite(x));
            compressing::measured(compressor, t, squares);
        }
        through_->charge({.bytes = 32.0 * static_cast<double>(tensors_.size())});
        for (const tensor& t : tensors_) {
            const tag label{channels::gossip, static_cast<std::uint32_t>(2 + t.index), round};
            for (std::size_t i = 0; i < into_.size(); ++i)
                receives_.push(
                    through_->receive(into_[i].rank, label, arrived_[place(t, i)].memory));
            bytes& message = messages_[slot(t)];
            message.clear();
            compressor.encode(t, t.of(std::span<const float>(difference_)), message);
            for (const auto& n : out_of_) sends_.push(through_->send(n.rank, label, message));
        }
        next_ = 0;
        return moved;
    }

    bool advance() {
        while (sends_.pop_complete()) {}
        while (const auto ended = receives_.pop_complete())
            arrived_[next_++].size = static_cast<std::size_t>(ended->bytes);
        return sends_.empty() && receives_.empty();
    }

    /// When all is here: copies are as all ranks have them. Nothing of it stays if it throws.
    void settle(state& compressor) {
        for (int pass = 0; pass < 2; ++pass)  // first only whether all of it can be decoded
            for (const tensor& t : tensors_) {
                const auto sum = t.of(std::span(difference_));
                for (std::size_t i = 0; i <= into_.size(); ++i) {
                    const bool own = i == into_.size();
                    std::fill(sum.begin(), sum.end(), 0.0f);
                    const byte_view message =
                        own ? byte_view(messages_[slot(t)]) : arrived_[place(t, i)].view();
                    if (!message.empty()) compressor.decode_add(t, message, sum);
                    if (pass == 0 && !own) require_finite(t, sum, into_[i].rank);
                    if (pass == 1) add(t, sum, own ? -weight_ : into_[i].weight, own);
                }
            }
        through_->charge({.bytes = 24.0 * static_cast<double>(tensors_.size()) *
                                   static_cast<double>(into_.size() + 1)});
    }

    std::int64_t message_bytes(const tensor& t) const noexcept {
        return std::ssize(messages_[slot(t)]);
    }

    void visit(auto&& field) {
        field("copy/own", std::span<float>(own_));
        field("copy/apart", std::span<float>(apart_));
    }

private:
    struct arrival {
        bytes memory;
        std::size_t size = 0;
        byte_view view() const noexcept { return byte_view(memory).first(size); }
    };

    static std::size_t slot(const tensor& t) noexcept { return static_cast<std::size_t>(t.index); }
    std::size_t place(const tensor& t, std::size_t from) const noexcept {
        return slot(t) * into_.size() + from;
    }

    void add(const tensor& t, std::span<const float> what, double weight, bool own) {
        const auto factor = static_cast<float>(weight);
        kernels::subtract_scaled(t.of(std::span(apart_)), -factor, what);
        if (own) kernels::add(t.of(std::span(own_)), what);
    }

    static void require_finite(const tensor& t, std::span<const float> what, int from) {
        if (const std::int64_t i = kernels::first_non_finite(what); i >= 0)
            collectives::refuse_mixing(from,
                                       "tensor '" + t.name + "', element " + std::to_string(i));
    }

    Transport* through_;
    const layout& tensors_;
    std::vector<topologies::neighbour> into_, out_of_;
    double weight_ = 0.0;  // of all that comes in
    large_vector<float> own_, apart_, difference_;
    std::vector<bytes> messages_;
    std::vector<arrival> arrived_;
    std::size_t next_ = 0;
    collectives::flight<Transport> receives_, sends_;
};

}  // namespace sotto
