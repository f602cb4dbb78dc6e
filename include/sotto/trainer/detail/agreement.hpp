#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sotto/checkpoint/detail/digest.hpp"
#include "sotto/transports/transport.hpp"
#include "sotto/transports/transport_ref.hpp"

namespace sotto::detail {

/// Size and digest of a text, for ranks to compare before they send the text.
struct text_card {
    std::uint64_t size = 0;
    checkpoint::digest digest{};

    explicit text_card(std::string_view text = {})
        : size(text.size()), digest(checkpoint::digest_of(std::as_bytes(std::span(text)))) {}
    friend bool operator==(const text_card&, const text_card&) = default;
};

/// Returns the cards of all ranks' texts. Every rank calls it with the same number.
std::vector<text_card> cards_of(transport_ref through, std::string_view text, std::uint64_t number);

bool all_equal(std::span<const text_card> cards) noexcept;

/// Returns where the ranks' texts differ from that of rank 0, as `difference` reports it. They must
/// be equal up to `begin`, and differ within the next `bytes` bytes.
std::string difference_within(transport_ref through, std::string_view text, std::size_t begin,
                              std::size_t bytes);

/// Throws mismatch, the same on every rank, unless every rank passes the same text: lines of "name
/// = value".
///   cost    24 bytes from each rank. If texts differ, 24 for each piece of 512 KiB up to the first
///           that differs, plus that piece
///   errors  mismatch: a text that differs, or is longer than 16 MiB
void require_agreement(transport_ref through, const std::string& text);

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/trainer/detail/agreement.ipp"
#endif
