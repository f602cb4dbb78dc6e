#pragma once

#include <type_traits>

#include "sotto/compressors/compressor.hpp"
#include "sotto/compressors/no_memory.hpp"

namespace sotto::detail {

/// What a compressor's messages say is right on average, E[C(g)] = g, but may be further from g
/// than nothing is. It claims it by `static constexpr bool unbiased = true` in its options.
template <class C>
concept unbiased = requires {
    requires C::unbiased;
};

template <class C>
concept claims_memory = requires {
    requires C::remembers;
};

template <class C>
concept has_a_memory = requires(const C& options) {
    options.memory;
    requires !std::is_same_v<std::remove_cvref_t<decltype(options.memory)>, no_memory>;
};

/// Part of what one round was given is kept for later ones. A compressor claims it by
/// `static constexpr bool remembers = true` in its options, by holds_momentum, or by a `memory`
/// that is not no_memory.
template <class C>
concept remembers = holds_momentum<C> || detail::claims_memory<C> || detail::has_a_memory<C>;

/// What is taken from a vector by sending it is never more than there was, ||C(g) - g||^2 <=
/// (1 - d) ||g||^2 with 0 < d <= 1, and depends on this vector alone: so a memory of what was not
/// sent can be built on it. It is what a compressor is taken for that says nothing else.
template <class C>
concept contractive = sotto::compressor<C> && !unbiased<C> && !remembers<C>;

}  // namespace sotto::detail
