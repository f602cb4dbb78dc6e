#pragma once

#include "sotto/transports/remarks.hpp"

#include <cstdio>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/text/print_line.hpp"
#include "sotto/core/printable.hpp"
#include "sotto/transports/transport.hpp"

namespace sotto {

SOTTO_DECL void say_remark(const remark& said) noexcept {
    detail::print_line(stderr, "sotto: rank " + std::to_string(said.rank) + ": " + said.text);
}

}  // namespace sotto

namespace sotto::detail {

SOTTO_DECL void remarks::say(const std::string& text) const {
    void (*const tell)(const remark&) noexcept = on_remark.load();
    if (silent_ || !tell) return;
    tell({rank_, printable(text)});
}

SOTTO_DECL remarks remarks::of(transport_ref through) {
    return remarks(through.rank(), !simulated_network_of(through).empty());
}

SOTTO_DECL remarks remarks::of_files(transport_ref through) {
    return remarks(through.rank(), false);
}

}  // namespace sotto::detail
