#include "sotto/nn/detail/blas_memory.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <string>
#include <vector>

#include "sotto/core/errors.hpp"
#include "sotto/nn/detail/blas.hpp"
#include "support/effort.hpp"

using sotto::detail::nn::blas_memory;

namespace {

/// A BLAS that keeps its buffers, on a machine that has room for so many.
struct made_up_blas {
    static inline std::size_t room = 0, buffers = 0, in_use = 0, refusals = 0;
    static inline bool took_without_room = false;

    static sotto::detail::nn::blas_memory::calls calls_with(std::size_t room_for) {
        room = room_for;
        buffers = in_use = refusals = 0;
        took_without_room = false;
        return {[] { return true; },
                [](std::size_t bytes) {
                    CHECK(bytes == sotto::detail::nn::blas_memory::buffer_bytes);
                    return buffers < room;
                },
                []() -> void* {
                    if (++in_use > buffers) ++buffers;
                    took_without_room = took_without_room || buffers > room;
                    return nullptr;
                },
                [](void*) { --in_use; }, [] { ++refusals; }};
    }
};

}  // namespace

TEST_CASE("blas_memory: threads multiply -> each has a buffer of its own before it does") {
    sotto::detail::nn::blas_memory memory(made_up_blas::calls_with(3));
    for (std::size_t threads = 1; threads <= 3; ++threads) {
        memory.add_thread();
        CHECK(made_up_blas::buffers == threads);
        CHECK(made_up_blas::in_use == 0);
    }
    memory.remove_thread();
    memory.add_thread();  // in place of the one that ended
    CHECK(made_up_blas::buffers == 3);
}

TEST_CASE("blas_memory: no room for a buffer -> an error by name, and no call of BLAS") {
    sotto::detail::nn::blas_memory memory(made_up_blas::calls_with(2));
    memory.add_thread();
    memory.add_thread();
    for (int attempt = 1; attempt <= 2; ++attempt) {
        std::string text;
        try {
            memory.add_thread();
        } catch (const sotto::io_failure& e) {
            text = e.what();
        }
        CHECK(text.find("128 MiB of address space, which OpenBLAS needs for thread 3 of this") !=
              std::string::npos);
        CHECK(made_up_blas::refusals == static_cast<std::size_t>(attempt));
        CHECK(made_up_blas::in_use == 0);
        CHECK_FALSE(made_up_blas::took_without_room);
    }
    memory.remove_thread();
    memory.add_thread();
    CHECK(made_up_blas::buffers == 2);
}

namespace {

constexpr const char* limited_variable = "SOTTO_TEST_LIMITED_ADDRESS_SPACE";
constexpr const char* limited_case =
    "multiply: ulimit -v leaves no room for OpenBLAS -> an error by name";

/// In a process whose address space is limited: its exit status, 7 for the error.
int multiply_in_vain() {
    const std::vector<float> values(100 * 100, 1.0f);
    std::vector<float> product(values.size());
    try {
        sotto::detail::nn::multiply({values, 100, 100}, {values, 100, 100}, {product, 100, 100});
    } catch (const sotto::io_failure& e) {
        const std::string text = e.what();
        return text.find("its limit (ulimit -v) is 150 MiB") != text.npos ? 7 : 6;
    }
    return 8;
}

}  // namespace

// A sanitizer needs address space of its own.
TEST_CASE("multiply: ulimit -v leaves no room for OpenBLAS -> an error by name" *
          doctest::skip(sotto::testing::is_sanitized)) {
    if (std::getenv(limited_variable) != nullptr) std::_Exit(multiply_in_vain());
    const ::pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {  // anew, with nothing that BLAS has already
        ::alarm(60);   // it tries for ever: it is killed
        ::setenv("OPENBLAS_NUM_THREADS", "1", 1);
        ::setenv(limited_variable, "1", 1);
        const rlimit little{150 << 20, 150 << 20};
        if (::setrlimit(RLIMIT_AS, &little) == 0) {
            const std::string filter = std::string("-tc=") + limited_case;
            ::execl("/proc/self/exe", "test", filter.c_str(), static_cast<char*>(nullptr));
        }
        ::_exit(9);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    const bool has_openblas = blas_memory_alloc != nullptr;
    CHECK(WEXITSTATUS(status) == (has_openblas ? 7 : 8));
}
