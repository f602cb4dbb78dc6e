#pragma once

#include <concepts>
#include <cstdint>
#include <span>

#include "sotto/transports/transport.hpp"

namespace sotto {

/// A transport whose `agree` can be had for some of its ranks only, as atomic as the one for all.
/// The members are ascending; every one of them opens the ballot with the same members and label,
/// and keeps it.
template <class T>
concept ballot_transport = transport<T> &&
    requires(T& t, std::span<const int> members, std::uint32_t label, bool vote) {
    { t.agree(t.open_ballot(members, label), vote) } -> std::same_as<bool>;
};

}  // namespace sotto
