#include "sotto/core/exit_code.hpp"

#include <doctest/doctest.h>

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <new>
#include <stdexcept>
#include <string>

#include "sotto/core/errors.hpp"
#include "sotto/core/result.hpp"

using namespace sotto;

namespace {

peer_failure failed_by(errc cause) {
    return {2, "its reason", {0, 7, "commit"}, cause};
}

template <class Thrown>
exit_code code_of_thrown(const Thrown& thrown) {
    try {
        throw thrown;
    } catch (...) {
        return exit_code_of_current_exception();
    }
}

template <class Thrown>
std::string text_of_thrown(const Thrown& thrown) {
    try {
        throw thrown;
    } catch (...) {
        return text_of_current_exception();
    }
}

struct weather {};

}  // namespace

TEST_CASE("exit codes: the numbers -> as scripts have learnt them") {
    CHECK(static_cast<int>(exit_code::done) == 0);
    CHECK(static_cast<int>(exit_code::fault) == 1);
    CHECK(static_cast<int>(exit_code::usage) == 2);
    CHECK(static_cast<int>(exit_code::peer) == 3);
    CHECK(static_cast<int>(exit_code::output_incomplete) == 4);
}

TEST_CASE("exit codes: each kind of error -> its code, and only peers retry") {
    const auto is = [](const std::exception& failure, exit_code expected) {
        CAPTURE(failure.what());
        CHECK(exit_code_of(failure) == expected);
        CHECK(retryable(failure) == (expected == exit_code::peer));
    };
    is(invalid_option("rate"), exit_code::usage);
    is(mismatch("rates differ"), exit_code::usage);
    is(malformed("a file", detail::fault{}), exit_code::usage);
    is(error(errc::timed_out, "3 of 4 ranks did not join"), exit_code::peer);
    is(error(errc::peer_failed, "the connection broke"), exit_code::peer);
    is(error(errc::altered, "no frame"), exit_code::peer);
    is(non_finite(1, "w", 3), exit_code::fault);
    is(error(errc::non_finite, "the sum"), exit_code::fault);
    is(io_failure("no space left"), exit_code::fault);
    is(output_incomplete("the log lacks 3 lines"), exit_code::output_incomplete);
    is(std::bad_alloc(), exit_code::fault);
    is(std::logic_error("a bug"), exit_code::fault);
}

TEST_CASE("exit codes: another rank failed -> the code of its cause") {
    for (const errc lost :
         {errc::peer_failed, errc::timed_out, errc::altered, static_cast<errc>(200)}) {
        CHECK(exit_code_of(failed_by(lost)) == exit_code::peer);
        CHECK(retryable(failed_by(lost)));
    }
    for (const errc configured : {errc::mismatch, errc::invalid_option}) {
        CHECK(exit_code_of(failed_by(configured)) == exit_code::usage);
        CHECK_FALSE(retryable(failed_by(configured)));
    }
    for (const errc repeats : {errc::non_finite, errc::malformed}) {
        CHECK(exit_code_of(failed_by(repeats)) == exit_code::fault);
        CHECK_FALSE(retryable(failed_by(repeats)));
    }
    CHECK(exit_code_of(failed_by(errc::output_incomplete)) == exit_code::output_incomplete);
}

TEST_CASE("exit codes: the current exception of any type -> its code and text") {
    CHECK(code_of_thrown(mismatch("rates differ")) == exit_code::usage);
    CHECK(text_of_thrown(mismatch("rates differ")) == "rates differ");
    CHECK(code_of_thrown(42) == exit_code::fault);
    CHECK(text_of_thrown(42) ==
          "an exception of type int was thrown; expected a std::exception, whose what() names the "
          "cause");
    CHECK(text_of_thrown(weather{}).find("weather was thrown") != std::string::npos);
}

TEST_CASE("report_exception: any exception -> its text on stderr, its code returned") {
    const auto report_of = [](auto thrown, const char* program) {
        std::array<int, 2> ends{};
        REQUIRE(::pipe(ends.data()) == 0);
        const ::pid_t child = ::fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            ::dup2(ends[1], STDERR_FILENO);
            try {
                throw thrown;
            } catch (...) {
                ::_exit(report_exception(program));
            }
        }
        ::close(ends[1]);
        std::string text;
        std::array<char, 256> piece{};
        for (ssize_t count = 0; (count = ::read(ends[0], piece.data(), piece.size())) > 0;)
            text.append(piece.data(), static_cast<std::size_t>(count));
        ::close(ends[0]);
        int status = 0;
        REQUIRE(::waitpid(child, &status, 0) == child);
        REQUIRE(WIFEXITED(status));
        return std::to_string(WEXITSTATUS(status)) + " " + text;
    };
    CHECK(report_of(mismatch("rates differ"), "") == "2 rates differ\n");
    CHECK(report_of(peer_failure(1, "it left", {}), "quickstart") ==
          "3 quickstart: rank 1 failed: it left (noticed in phase 'idle', round 0)\n");
    CHECK(report_of(42, "quickstart")
              .starts_with("1 quickstart: an exception of type int was thrown; expected"));
}

TEST_CASE("errors: output_incomplete -> a code and a class of its own") {
    const output_incomplete lacks("'run.jsonl' lacks 3 lines: No space left on device");
    CHECK(lacks.code() == errc::output_incomplete);
    CHECK(lacks.code().message() == "output is incomplete");
    CHECK(static_cast<int>(errc::output_incomplete) == 8);
}
