#include "sotto/core/detail/processes/owner_process.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <utility>

using sotto::detail::owned_by_process;
using sotto::detail::owner_process;

namespace {

struct counted {
    int* destroyed = nullptr;

    explicit counted(int* count) : destroyed(count) {}
    counted(counted&& other) noexcept : destroyed(std::exchange(other.destroyed, nullptr)) {}
    ~counted() {
        if (destroyed) ++*destroyed;
    }
};

}  // namespace

TEST_CASE("owned_by_process: its process ends it -> destroyed once, also after a move") {
    int destroyed = 0;
    {
        owned_by_process<counted> first{counted(&destroyed)};
        const owned_by_process<counted> second(std::move(first));
        CHECK(destroyed == 0);
        CHECK(second->destroyed == &destroyed);
    }
    CHECK(destroyed == 1);
}

TEST_CASE("owned_by_process: a child of fork() ends it -> not destroyed") {
    int destroyed = 0;
    const owner_process owner;
    CHECK(owner.is_this());
    ::pid_t child = 0;
    {
        const owned_by_process<counted> one{counted(&destroyed)};
        CHECK(one.is_of_this_process());
        child = ::fork();
        REQUIRE(child >= 0);
        if (child == 0 && one.is_of_this_process()) ::_exit(9);
    }
    if (child == 0) ::_exit(owner.is_this() ? 8 : destroyed);
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    CHECK(destroyed == 1);
}

TEST_CASE("owned_by_process: a child of fork() assigns a value -> it destroys that one alone") {
    int inherited = 0, assigned = 0;
    ::pid_t child = 0;
    {
        owned_by_process<std::unique_ptr<counted>> one{std::make_unique<counted>(&inherited)};
        child = ::fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            one = std::make_unique<counted>(&assigned);
            if (!one.is_of_this_process()) ::_exit(9);
        }
    }
    if (child == 0) ::_exit(inherited == 0 && assigned == 1 ? 0 : 8);
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    CHECK(inherited == 1);
}
