#pragma once

#include <string_view>

#include "sotto/core/errors.hpp"
#include "sotto/core/exit_code.hpp"
#include "sotto/transports/transport.hpp"

namespace sotto::detail {

/// `fail` with the kind of failure, for transports that send it; others send the text alone.
template <class Transport>
void fail_as(Transport& through, std::string_view cause, errc kind) noexcept {
    if constexpr (requires { through.fail(cause, kind); })
        through.fail(cause, kind);
    else
        through.fail(cause);
}

/// The kind of the exception that is being handled.
errc kind_of_current_exception() noexcept;

}  // namespace sotto::detail

namespace sotto {

/// Sends the exception that is being handled to all other ranks, with its kind, as the reason why
/// this rank ends; then withdraws. For `catch (...)`, before `throw;`. It has no effect after a
/// peer_failure, which all ranks know already.
template <transport Transport>
void fail_with_exception(Transport& through) noexcept {
    detail::fail_as(through, text_of_current_exception(), detail::kind_of_current_exception());
}

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/fail_with_exception.ipp"
#endif
