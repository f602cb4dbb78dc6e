#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sotto/collectives/detail/flight.hpp"
#include "sotto/compressors/compressor.hpp"
#include "sotto/core/bytes.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/topologies/mixing_matrix.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto::detail {

/// A compressor's message for each tensor to some ranks, and theirs to this one: one round at a
/// time, `begin`, `send` for each tensor, `advance` until it holds. Messages stay until the next.
///   wire    a message for each tensor and rank; one tag for all of a tensor's in a round
///   cost    room for one message of each rank; no memory is taken after it was made, for no more
///           ranks than said
class tensor_messages {
public:
    /// `from`, `to`: the most ranks whose messages come, and to which this rank's go.
    template <class State>
    tensor_messages(const layout& tensors, const State& compressor, std::size_t from,
                    std::size_t to, transport_ref through)
        : through_(through),
          from_max_(from),
          own_(tensors.tensors().size()),
          arrived_(own_.size() * from),
          receives_(through, arrived_.size()),
          sends_(through, own_.size() * to) {
        awaited_.reserve(arrived_.size());
        for (const tensor& t : tensors) {
            const auto room =
                static_cast<std::size_t>(compressing::message_bytes_max(compressor, t));
            own_[slot(t)].reserve(room);
            for (std::size_t i = 0; i < from; ++i) at(t, i).memory.resize(room);
        }
        through.reserve(static_cast<std::int64_t>(arrived_.size() + own_.size() * to));
    }

    /// Before the first message of a round.
    void begin() noexcept;

    /// `encode(out)` appends this rank's message, which goes to all of `to`; those of `from` are
    /// awaited.
    template <class Encode>
    void send(const tensor& t, tag label, std::span<const topologies::neighbour> from,
              std::span<const topologies::neighbour> to, Encode encode) {
        for (std::size_t i = 0; i < from.size(); ++i) {
            arrival& a = at(t, i);
            awaited_.push_back(static_cast<std::size_t>(&a - arrived_.data()));
            receives_.push(through_.receive(from[i].rank, label, a.memory));
        }
        bytes& message = own_[slot(t)];
        message.clear();
        encode(message);
        for (const auto& n : to) sends_.push(through_.send(n.rank, label, message));
    }

    /// Whether all messages of the round have gone and come.
    bool advance();

    /// This rank's message of a tensor.
    byte_view own(const tensor& t) const noexcept { return own_[slot(t)]; }
    /// That of the `i`th of those that it was awaited from.
    byte_view from(const tensor& t, std::size_t i) const noexcept;

private:
    struct arrival {
        bytes memory;
        std::size_t size = 0;
    };

    static std::size_t slot(const tensor& t) noexcept { return static_cast<std::size_t>(t.index); }
    arrival& at(const tensor& t, std::size_t i) noexcept;

    transport_ref through_;
    std::size_t from_max_;
    std::vector<bytes> own_;
    std::vector<arrival> arrived_;
    std::vector<std::size_t> awaited_;  // places in arrived_, in the order of the receives
    std::size_t next_ = 0;
    // Last: transfers end before the memory goes.
    collectives::flight receives_, sends_;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/detail/codistillation/tensor_messages.ipp"
#endif
