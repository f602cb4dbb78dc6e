#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "sotto/core/bytes.hpp"
#include "sotto/core/config.hpp"
#include "sotto/core/result.hpp"
#include "sotto/wire/detail/coding/little_endian.hpp"

namespace sotto::detail::wire {

/// Content of a message about a model.
///   whole   its parameters and buffers
///   change  what to add to the model that was sent before
enum class model_kind : std::uint32_t { whole, change };

/// Header of a message about a model.
struct model_header {
    model_kind kind = model_kind::whole;       // kind of the parts
    std::uint32_t parts = 0;                   // number of messages that follow
    std::uint64_t number = 0;                  // number of models that were sent before this one
    std::uint64_t step = 0;                    // step of its training
    double label_loss = 0.0;                   // recent loss; not finite if unknown
    std::array<std::byte, 16> architecture{};  // digest, see checkpoint::architecture
};

inline constexpr std::size_t model_header_bytes = 48;  // on the wire

inline namespace SOTTO_UNIT {

/// Returns the bytes before `parts` messages.
constexpr std::size_t model_head_bytes(std::size_t parts) noexcept {
    return model_header_bytes + 8 * parts;
}

/// Writes a header, then the sizes of the messages, to memory of model_head_bytes.
///   wire    | bytes | content, little endian                          |
///           | 4     | 0 a whole model, 1 its change                   |
///           | 4     | p, number of messages                           |
///           | 8     | models that were sent before this one           |
///           | 8     | steps of its training                           |
///           | 8     | its loss by the labels, a double                |
///           | 16    | digest of its architecture                      |
///           | 8 p   | bytes of each message, which follow in order    |
void write_model_head(const model_header& h, std::span<const std::uint64_t> sizes,
                      std::byte* to) noexcept;

/// Reads a model of messages.size() messages; `messages` receives views into `in`.
///   errors  refuses any other number, sizes that do not add up to the rest, steps of 2^62 and
///           more, and bytes that are not as above
result<model_header> read_model(byte_view in, std::span<byte_view> messages) noexcept;

}  // namespace SOTTO_UNIT

}  // namespace sotto::detail::wire

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/wire/detail/protocols/model_message.ipp"
#endif
