#pragma once

#include <string_view>

#include "sotto/core/errors.hpp"
#include "sotto/core/exit_code.hpp"
#include "sotto/transports/transport.hpp"

namespace sotto::detail {

/// Calls `fail` with the kind of failure if the transport takes one, else with the text alone.
template <class Transport>
void fail_as(Transport& through, std::string_view cause, errc kind) noexcept {
    if constexpr (requires { through.fail(cause, kind); })
        through.fail(cause, kind);
    else
        through.fail(cause);
}

/// Kind of the exception that is being handled.
errc kind_of_current_exception() noexcept;

}  // namespace sotto::detail

namespace sotto {

/// Sends the exception that is being handled, and its kind, to all other ranks as the cause of this
/// rank's failure; then withdraws. For `catch (...)`, before `throw;`. It has no effect after a
/// peer_failure, which all ranks know already.
template <transport Transport>
void fail_with_exception(Transport& through) noexcept {
    detail::fail_as(through, text_of_current_exception(), detail::kind_of_current_exception());
}

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/transports/fail_with_exception.ipp"
#endif
