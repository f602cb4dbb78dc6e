#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <vector>

#include "sotto/checkpoint/detail/digest.hpp"
#include "sotto/checkpoint/detail/published_model.hpp"
#include "sotto/compressors/compressor.hpp"
#include "sotto/core/bytes.hpp"
#include "sotto/core/detail/memory/finite.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/core/layout.hpp"
#include "sotto/core/round_info.hpp"
#include "sotto/wire/dense_block.hpp"
#include "sotto/wire/detail/coding/little_endian.hpp"
#include "sotto/wire/detail/protocols/model_message.hpp"

namespace sotto::detail {

/// One group's model as another comes to know it, message by message.
class received_model {
public:
    received_model(const layout& tensors, std::size_t buffers, std::size_t message_max);

    mutable_byte_view room() noexcept { return room_; }

    /// Takes in the message of so many bytes. `decoder` is of the compressor that changes are sent
    /// by, `where` the rank that speaks for the group. After one that it does not understand it
    /// understands none before the next that is of a whole model.
    template <class State>
    void take(std::int64_t size, const layout& tensors, const checkpoint::architecture& kind,
              State& decoder, round_info where) noexcept {
        try {
            understand(byte_view(room_).first(static_cast<std::size_t>(size)), tensors, kind,
                       decoder, where);
            why_lost_ = nullptr;
            is_new_ = true;
        } catch (...) {
            why_lost_ = std::current_exception();
        }
    }

    /// Whether there is a model that model() was not asked for.
    ///   errors  of what could not be understood: malformed; mismatch, another architecture
    bool is_new() const;

    /// As it is known now.
    checkpoint::published_model model();

private:
    template <class State>
    void understand(byte_view message, const layout& tensors, const checkpoint::architecture& kind,
                    State& decoder, round_info where) {
        const wire::model_header h = wire::read_model(message, parts_).value("a model");
        if (const checkpoint::digest own = kind.identity(); h.architecture != own)
            throw mismatch("rank " + std::to_string(where.rank) +
                           " sends a model of architecture " + checkpoint::hex(h.architecture) +
                           "; expected " + checkpoint::hex(own));
        if (parts_[0].size() != 4 * buffers_.size())
            throw mismatch("rank " + std::to_string(where.rank) + " sends a model with " +
                           std::to_string(parts_[0].size()) + " bytes of buffers; expected " +
                           std::to_string(4 * buffers_.size()));
        if (why_lost_ && h.kind == wire::model_kind::change) std::rethrow_exception(why_lost_);
        where.step = static_cast<std::int64_t>(h.number);
        if (h.kind == wire::model_kind::change) compressing::begin_round(decoder, where);
        for (const tensor& t : tensors) {
            const byte_view part = parts_[static_cast<std::size_t>(t.index) + 2];
            const auto known = t.of(std::span(parameters_));
            if (h.kind == wire::model_kind::change) {
                decoder.decode_add(t, part, known);
            } else {
                const auto read = sotto::wire::decode_dense(part, known).value(message_of{t}());
                if (read.data() != known.data()) std::ranges::copy(read, known.begin());
            }
        }
        std::ranges::copy(parts_[0], std::as_writable_bytes(std::span(buffers_)).begin());
        facts_.judged.clear();
        for (std::size_t at = 0; at + 8 <= parts_[1].size(); at += 8) {
            const auto loss = std::bit_cast<double>(
                wire::load_little_endian<std::uint64_t>(parts_[1].data() + at));
            if (is_finite(loss)) facts_.judged.push_back({static_cast<int>(at / 8), loss});
        }
        facts_.step = static_cast<std::int64_t>(h.step);
        facts_.label_loss = h.label_loss;
        facts_.architecture = h.architecture;
    }

    std::vector<float> parameters_, buffers_;
    bytes room_;
    std::vector<byte_view> parts_;
    checkpoint::published_facts facts_;
    bool is_new_ = false;
    std::exception_ptr why_lost_;
};

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/strategies/detail/codistillation/received_model.ipp"
#endif
