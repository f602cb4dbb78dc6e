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

/// What ranks compare of a text before they send any of it.
struct text_card {
    std::uint64_t size = 0;
    checkpoint::digest digest{};

    explicit text_card(std::string_view text = {})
        : size(text.size()), digest(checkpoint::digest_of(std::as_bytes(std::span(text)))) {}
    friend bool operator==(const text_card&, const text_card&) = default;
};

/// The cards of all ranks' texts. Every rank calls it with the same number.
std::vector<text_card> cards_of(transport_ref through, std::string_view text, std::uint64_t number);

bool all_equal(std::span<const text_card> cards) noexcept;

/// Where the texts of all ranks depart from that of rank 0, as `difference` reports it. They are
/// equal up to `begin`, and differ within so many bytes.
std::string difference_within(transport_ref through, std::string_view text, std::size_t begin,
                              std::size_t bytes);

/// Throws mismatch, the same on every rank, unless every rank passes the same text: lines of "name
/// = value".
///   cost    24 bytes from each rank. If texts differ, 24 for each piece of 512 KiB up to the first
///           that differs, and that piece
///   errors  mismatch: a text that differs, or is longer than 16 MiB
void require_agreement(transport_ref through, const std::string& text);

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/trainer/detail/agreement.ipp"
#endif
