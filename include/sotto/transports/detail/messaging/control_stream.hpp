#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "sotto/core/bytes.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/result.hpp"
#include "sotto/wire/detail/protocols/frame.hpp"

namespace sotto::detail::net {

/// One end of a connection that carries few, short frames: signs of life and votes. It has no input
/// or output, like framed_connection.
class control_stream {
public:
    control_stream(std::uint32_t epoch, std::uint64_t seed_out, std::uint64_t seed_in,
                   std::size_t payload_max)
        : epoch_(epoch), seed_out_(seed_out), seed_in_(seed_in), payload_max_(payload_max) {}

    /// Queues a frame and fills in its epoch, number, size and digest.
    void send(wire::frame_header header, byte_view payload = {});

    byte_view output() const noexcept { return output_; }
    void written(std::size_t count);

    /// Takes bytes that were read, and calls visit(header, payload) for each whole frame.
    template <class Visitor>
    std::optional<fault> received(byte_view piece, Visitor&& visit) {
        input_.insert(input_.end(), piece.begin(), piece.end());
        byte_view left = input_;
        while (left.size() >= wire::frame_header_bytes) {
            const auto header = wire::read_frame_header(left.data(), seed_in_);
            if (!header) return header.why();
            if (header->epoch != epoch_)
                return fault{4, "the present epoch", header->epoch, epoch_};
            if (header->sequence != received_)
                return fault{8, "as the frame's number",
                             static_cast<std::int64_t>(header->sequence),
                             static_cast<std::int64_t>(received_)};
            if (header->size > payload_max_)
                return fault{32, "bytes at most", static_cast<std::int64_t>(header->size),
                             static_cast<std::int64_t>(payload_max_)};
            const auto size = static_cast<std::size_t>(header->size);
            if (left.size() - wire::frame_header_bytes < size) break;
            const byte_view payload = left.subspan(wire::frame_header_bytes, size);
            if (digests_are_checked &&
                wire::frame_digest(payload, seed_in_) != header->payload_digest)
                return fault{48, "the payload's digest, not that of other bytes",
                             static_cast<std::int64_t>(header->payload_digest)};
            ++received_;
            left = left.subspan(wire::frame_header_bytes + size);
            if (const std::optional<fault> why = visit(*header, payload)) return why;
        }
        input_.erase(input_.begin(), input_.end() - static_cast<std::ptrdiff_t>(left.size()));
        return std::nullopt;
    }

    bool between_frames() const noexcept { return input_.empty(); }

private:
    std::uint32_t epoch_;
    std::uint64_t seed_out_, seed_in_;
    std::size_t payload_max_;
    std::uint64_t sent_ = 0, received_ = 0;
    bytes output_;
    bytes input_;
};

}  // namespace sotto::detail::net

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/detail/messaging/control_stream.ipp"
#endif
