#pragma once

#include <concepts>
#include <cstdint>
#include <span>

#include "sotto/transports/transport.hpp"

namespace sotto::detail {

/// A transport with `agree` for a subset of its ranks: see transport.
template <class T>
concept ballot_transport = transport<T> &&
    requires(T& t, std::span<const int> members, std::uint32_t label, bool vote) {
    { t.agree(t.open_ballot(members, label), vote) } -> std::same_as<bool>;
};

}  // namespace sotto::detail
