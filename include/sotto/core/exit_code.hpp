#pragma once

#include <cxxabi.h>

#include <exception>
#include <string>
#include <string_view>

#include "sotto/core/errors.hpp"

namespace sotto {

/// The exit status of a program, which schedulers and scripts read. All examples, guides and tools
/// of sotto end with one of these.
enum class exit_code {
    done = 0,               // the work is done
    fault = 1,              // it failed: a value that is not finite, a disk, a bug
    usage = 2,              // options, configuration or input that cannot work: never retry
    peer = 3,               // another rank or the network failed: start all ranks again
    output_incomplete = 4,  // the work is done, but output that was asked for is incomplete
};

}  // namespace sotto

namespace sotto::detail {

/// What a failure of another rank means for this one: the same as for that rank, if its cause is
/// one that every attempt repeats.
exit_code exit_code_of_peer(errc cause) noexcept;

exit_code exit_code_of(errc kind) noexcept;

/// Calls `use` with the std::exception that is being handled, or with a null pointer for another
/// type. What other languages throw, and the end of a thread by pthread_cancel, has no type: it is
/// not thrown again here, since a catch that swallows it ends the process.
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

/// The type of the exception that is being handled, as its source spells it.
std::string name_of_current_exception();

}  // namespace sotto::detail

namespace sotto {

/// The exit code for an exception. For a peer_failure it is that of the first rank that failed,
/// where its cause is known: a rank that was configured differently ends all ranks with `usage`.
exit_code exit_code_of(const std::exception& failure) noexcept;

/// The exit code for the exception that is being handled, of any type; for use in `catch (...)`.
exit_code exit_code_of_current_exception() noexcept;

/// Whether the same command may succeed when all ranks are started again: another rank or the
/// network failed, and not because of an option, a configuration, a value or a message that cannot
/// be read.
bool retryable(const std::exception& failure) noexcept;

/// The text of the exception that is being handled. If it is no std::exception it names the type.
inline std::string text_of_current_exception() noexcept try {
    return detail::with_current_exception([](const std::exception* failure) {
        return failure ? std::string(failure->what())
                       : "an exception of type " + detail::name_of_current_exception() +
                             " was thrown; expected a std::exception, whose what() names the cause";
    });
} catch (...) {
    return "out of memory";  // short enough to need none
}

/// Prints the exception that is being handled to stderr and returns its exit code as a number. For
/// the `catch (...)` of main:
///
///     int main() try {
///         ...
///     } catch (...) {
///         return sotto::report_exception();
///     }
///
/// A `program` that is not empty precedes the text, as in "program: text".
int report_exception(std::string_view program = {}) noexcept;

}  // namespace sotto

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/core/exit_code.ipp"
#endif
