#pragma once

#include "sotto/wire/detail/protocols/model_message.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "sotto/core/bytes.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/result.hpp"
#include "sotto/wire/detail/coding/little_endian.hpp"
#include "sotto/wire/detail/protocols/frame.hpp"

namespace sotto::detail::wire {

inline namespace SOTTO_UNIT {

SOTTO_DECL void write_model_head(const model_header& h, std::span<const std::uint64_t> sizes,
                                 std::byte* to) noexcept {
    store_little_endian(to, static_cast<std::uint32_t>(h.kind));
    store_little_endian(to + 4, static_cast<std::uint32_t>(sizes.size()));
    store_little_endian(to + 8, h.number);
    store_little_endian(to + 16, h.step);
    store_little_endian(to + 24, std::bit_cast<std::uint64_t>(h.label_loss));
    for (std::size_t i = 0; i < h.architecture.size(); ++i) to[32 + i] = h.architecture[i];
    store_little_endian(to + model_header_bytes, sizes);
}

SOTTO_DECL result<model_header> read_model(byte_view in, std::span<byte_view> messages) noexcept {
    const auto refused = [](std::size_t at, const char* expected, std::uint64_t found,
                            std::int64_t count = -1) {
        return fault{static_cast<std::int64_t>(at), expected, static_cast<std::int64_t>(found),
                     count};
    };
    constexpr std::uint64_t step_max = (std::uint64_t{1} << 62) - 1;
    if (in.size() < model_header_bytes)
        return refused(0, "bytes of a model's header", in.size(), model_header_bytes);
    const auto kind = load_little_endian<std::uint32_t>(in.data());
    if (kind > 1) return refused(0, "0 or 1 for a whole model, a change", kind);
    model_header h{
        .kind = static_cast<model_kind>(kind),
        .parts = load_little_endian<std::uint32_t>(in.data() + 4),
        .number = load_little_endian<std::uint64_t>(in.data() + 8),
        .step = load_little_endian<std::uint64_t>(in.data() + 16),
        .label_loss = std::bit_cast<double>(load_little_endian<std::uint64_t>(in.data() + 24))};
    for (std::size_t i = 0; i < h.architecture.size(); ++i) h.architecture[i] = in[32 + i];
    if (h.parts != messages.size())
        return refused(4, "messages of this model", h.parts, std::ssize(messages));
    if (h.number > step_max) return refused(8, "models below 2^62", h.number);
    if (h.step > step_max) return refused(16, "steps below 2^62", h.step);
    if (in.size() < model_head_bytes(messages.size()))
        return refused(model_header_bytes, "sizes of the messages", in.size(),
                       std::ssize(messages));
    byte_view rest = in.subspan(model_head_bytes(messages.size()));
    for (std::size_t i = 0; i < messages.size(); ++i) {
        const std::size_t at = model_header_bytes + 8 * i;
        const auto size = load_little_endian<std::uint64_t>(in.data() + at);
        if (size > rest.size()) return refused(at, "a size within the message", size);
        messages[i] = rest.first(static_cast<std::size_t>(size));
        rest = rest.subspan(static_cast<std::size_t>(size));
    }
    if (!rest.empty()) return refused(in.size() - rest.size(), "the end", rest.size());
    return h;
}

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::wire
