#pragma once

#include <cxxabi.h>

#include <exception>
#include <string>
#include <string_view>

#include "sotto/core/errors.hpp"

namespace sotto {

/// Exit status of a program, for schedulers and scripts. All examples, guides and tools of sotto
/// end with one of these.
enum class exit_code {
    done = 0,               // the work is done
    fault = 1,              // the work failed: a value that is not finite, a disk, a bug
    usage = 2,              // options, configuration or input that cannot work: do not retry
    peer = 3,               // another rank or the network failed: restart all ranks
    output_incomplete = 4,  // the work is done, but some requested output is incomplete
};

}  // namespace sotto

namespace sotto::detail {

/// Returns the exit code of this rank for a failure of another rank. It is `peer`, unless every
/// attempt would repeat the cause.
exit_code exit_code_of_peer(errc cause) noexcept;

exit_code exit_code_of(errc kind) noexcept;

/// Calls `use` with the current std::exception, or with a null pointer if the exception has another
/// type. Exceptions of other languages and pthread_cancel have no type. The function does not
/// rethrow them, because a catch that swallows them ends the process.
template <class Use>
auto with_current_exception(Use use) {
    if (abi::__cxa_current_exception_type() == nullptr)
        return use(static_cast<const std::exception*>(nullptr));
    try {
        throw;
    } catch (const std::exception& failure) {
        return use(&failure);
    } catch (...) {
        return use(static_cast<const std::exception*>(nullptr));
    }
}

/// Returns the type of the current exception, as its source spells it.
std::string name_of_current_exception();

}  // namespace sotto::detail

namespace sotto {

/// Returns the exit code for an exception. For a peer_failure it depends on the first rank that
/// failed, if the cause is known: a rank with another configuration ends all ranks with `usage`.
exit_code exit_code_of(const std::exception& failure) noexcept;

/// Returns the exit code for the current exception of any type. For use in `catch (...)`.
exit_code exit_code_of_current_exception() noexcept;

/// True if the same command may succeed after all ranks restart, because another rank or the
/// network failed. False if the cause is an option, a configuration, a value or an unreadable
/// message.
bool retryable(const std::exception& failure) noexcept;

/// Returns the text of the current exception. If it is not a std::exception, the text names its
/// type.
inline std::string text_of_current_exception() noexcept try {
    return detail::with_current_exception([](const std::exception* failure) {
        return failure ? std::string(failure->what())
                       : "an exception of type " + detail::name_of_current_exception() +
                             " was thrown; expected a std::exception, whose what() names the cause";
    });
} catch (...) {
    return "out of memory";  // short enough to need no allocation
}

/// Prints the current exception to stderr and returns its exit code as a number. For the `catch
/// (...)` of main:
///
///     int main() try {
///         ...
///     } catch (...) {
///         return sotto::report_exception();
///     }
///
/// If `program` is not empty, the line is "program: text".
int report_exception(std::string_view program = {}) noexcept;

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/core/exit_code.ipp"
#endif
