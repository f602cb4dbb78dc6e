#pragma once

#include <cxxabi.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <typeinfo>

#include "sotto/core/errors.hpp"
#include "sotto/core/detail/text/print_line.hpp"

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
inline exit_code exit_code_of_peer(errc cause) noexcept {
    switch (cause) {
        case errc::invalid_option:
        case errc::mismatch: return exit_code::usage;
        case errc::malformed:  // of a policy that writes what it cannot read
        case errc::non_finite: return exit_code::fault;
        case errc::output_incomplete: return exit_code::output_incomplete;
        default: return exit_code::peer;  // also a code that this version does not know
    }
}

inline exit_code exit_code_of(errc kind) noexcept {
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
inline std::string name_of_current_exception() {
    const std::type_info* const type = abi::__cxa_current_exception_type();
    if (type == nullptr) return "unknown to C++";
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> name(
        abi::__cxa_demangle(type->name(), nullptr, nullptr, &status), &std::free);
    return name ? name.get() : type->name();
}

}  // namespace sotto::detail

namespace sotto {

/// The exit code for an exception. For a peer_failure it is that of the first rank that failed,
/// where its cause is known: a rank that was configured differently ends all ranks with `usage`.
inline exit_code exit_code_of(const std::exception& failure) noexcept {
    const auto* const known = dynamic_cast<const error*>(&failure);
    if (known == nullptr) return exit_code::fault;
    const auto kind = static_cast<errc>(known->code().value());
    return dynamic_cast<const peer_failure*>(known) ? detail::exit_code_of_peer(kind)
                                                    : detail::exit_code_of(kind);
}

/// The exit code for the exception that is being handled, of any type; for use in `catch (...)`.
inline exit_code exit_code_of_current_exception() noexcept {
    return detail::with_current_exception([](const std::exception* failure) {
        return failure ? exit_code_of(*failure) : exit_code::fault;
    });
}

/// Whether the same command may succeed when all ranks are started again: another rank or the
/// network failed, and not because of an option, a configuration, a value or a message that cannot
/// be read.
inline bool retryable(const std::exception& failure) noexcept {
    return exit_code_of(failure) == exit_code::peer;
}

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
inline int report_exception(std::string_view program = {}) noexcept {
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
