#pragma once

#include "sotto/core/exit_code.hpp"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <typeinfo>

#include "sotto/core/config.hpp"
#include "sotto/core/detail/text/print_line.hpp"

namespace sotto::detail {

SOTTO_DECL exit_code exit_code_of_peer(errc cause) noexcept {
    switch (cause) {
        case errc::invalid_option:
        case errc::mismatch: return exit_code::usage;
        case errc::malformed:  // a policy wrote bytes that it cannot read
        case errc::non_finite: return exit_code::fault;
        case errc::output_incomplete: return exit_code::output_incomplete;
        default: return exit_code::peer;  // includes codes that this version does not know
    }
}

SOTTO_DECL exit_code exit_code_of(errc kind) noexcept {
    switch (kind) {
        case errc::malformed:
        case errc::invalid_option:
        case errc::mismatch: return exit_code::usage;
        case errc::peer_failed:
        case errc::altered:
        case errc::timed_out: return exit_code::peer;
        case errc::output_incomplete: return exit_code::output_incomplete;
        default: return exit_code::fault;
    }
}

SOTTO_DECL std::string name_of_current_exception() {
    const std::type_info* const type = abi::__cxa_current_exception_type();
    if (type == nullptr) return "unknown to C++";
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> name(
        abi::__cxa_demangle(type->name(), nullptr, nullptr, &status), &std::free);
    return name ? name.get() : type->name();
}

}  // namespace sotto::detail

namespace sotto {

SOTTO_DECL exit_code exit_code_of(const std::exception& failure) noexcept {
    const auto* const known = dynamic_cast<const error*>(&failure);
    if (known == nullptr) return exit_code::fault;
    const auto kind = static_cast<errc>(known->code().value());
    return dynamic_cast<const peer_failure*>(known) ? detail::exit_code_of_peer(kind)
                                                    : detail::exit_code_of(kind);
}

SOTTO_DECL exit_code exit_code_of_current_exception() noexcept {
    return detail::with_current_exception([](const std::exception* failure) {
        return failure ? exit_code_of(*failure) : exit_code::fault;
    });
}

SOTTO_DECL bool retryable(const std::exception& failure) noexcept {
    return exit_code_of(failure) == exit_code::peer;
}

SOTTO_DECL int report_exception(std::string_view program) noexcept {
    const exit_code code = exit_code_of_current_exception();
    try {
        std::string text(program);
        if (!program.empty()) text += ": ";
        detail::print_line(stderr, text + text_of_current_exception());
    } catch (...) {
        detail::print_line(stderr, "out of memory");
    }
    return static_cast<int>(code);
}

}  // namespace sotto
