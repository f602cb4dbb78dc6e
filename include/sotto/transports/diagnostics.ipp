#pragma once

#include "sotto/transports/diagnostics.hpp"

#include <cstdio>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/text/print_line.hpp"
#include "sotto/core/printable.hpp"
#include "sotto/transports/transport.hpp"

namespace sotto {

SOTTO_DECL void print_diagnostic(const diagnostic& said) noexcept {
    detail::print_line(stderr, "sotto: rank " + std::to_string(said.rank) + ": " + said.text);
}

}  // namespace sotto

namespace sotto::detail {

SOTTO_DECL void diagnostics::say(const std::string& text) const {
    void (*const tell)(const diagnostic&) noexcept = on_diagnostic.load();
    if (silent_ || !tell) return;
    tell({rank_, printable(text)});
}

SOTTO_DECL diagnostics diagnostics::of(transport_ref through) {
    return diagnostics(through.rank(), !simulated_network_of(through).empty());
}

SOTTO_DECL diagnostics diagnostics::of_files(transport_ref through) {
    return diagnostics(through.rank(), false);
}

}  // namespace sotto::detail
