#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

#include "sotto/core/bytes.hpp"
#include "sotto/core/errors.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto::detail {

/// Result of an action of rank 0, for all other ranks. It is sent as its bytes.
struct tidings {
    std::int64_t code = 0;  // an errc; 0: success
    std::int64_t number = 0;
    std::array<char, 4080> text{};

    void say(std::string_view what) noexcept;
    void fail(const std::error_code& why, std::string_view what) noexcept;
    /// Returns the text. Another process sent it, so it may lack the final 0.
    std::string said() const { return {text.begin(), std::find(text.begin(), text.end(), '\0')}; }

    /// Throws the same error on every rank, after every rank has it.
    void raise_if_failed(transport_ref through) const;
};
static_assert(std::has_unique_object_representations_v<tidings>);

/// Sends rank 0's bytes to every rank.
void give_to_all(transport_ref through, mutable_byte_view values, tag label);

void give_to_all(transport_ref through, tidings& told, tag label);

/// Runs `act` on rank 0. Every rank throws the error that `act` throws, or returns the number that
/// it returns.
template <class Act>
std::int64_t by_the_first(transport_ref through, tag label, Act act) {
    tidings told;
    try {
        if (through.rank() == 0) {
            if constexpr (std::is_void_v<decltype(act())>)
                act();
            else
                told.number = act();
        }
    } catch (const error& e) {
        told.fail(e.code(), e.what());
    }
    give_to_all(through, told, label);
    told.raise_if_failed(through);
    return told.number;
}

/// Both block until the transfer ends. A message of another length throws mismatch.
void receive_from(transport_ref through, int rank, mutable_byte_view into, tag label);

void send_to(transport_ref through, int rank, byte_view values, tag label);

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/trainer/detail/checkpointing/by_the_first.ipp"
#endif
