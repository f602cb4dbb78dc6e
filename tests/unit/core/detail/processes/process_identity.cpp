#include "sotto/core/detail/processes/process_identity.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

using sotto::detail::process_identity, sotto::detail::process_state;
using sotto::detail::read_process_stat, sotto::detail::is_dead;

namespace {

/// A stat line of proc(5), whose fields 4 to 22 are their own numbers.
std::string line(const std::string& begin, int last = 22) {
    std::string text = begin;
    for (int field = 4; field <= last; ++field) text += " " + std::to_string(field);
    return text + " 0 0\n";
}

}  // namespace

TEST_CASE("read_process_stat: a name with blanks and parentheses -> the fields behind it") {
    for (const char* name : {"(cat)", "(a b)", "(a) R 1)", "()", "(((()"}) {
        const auto found = read_process_stat(line("17 " + std::string(name) + " S"));
        REQUIRE(found);
        CHECK(found->id == 17);
        CHECK(found->state == 'S');
        CHECK(found->threads == 20);
        CHECK(found->started == 22);
    }
    for (const std::string& text :
         {std::string(), std::string("17"), std::string("17 (cat"), std::string("17 (cat)"),
          std::string("x (cat) S 1"), line("17 (cat) S", 20).substr(0, 40)})
        CHECK_FALSE(read_process_stat(text));
}

TEST_CASE("is_dead: a process that its parent has not waited for -> dead, unless threads live") {
    CHECK(is_dead({1, 2, 1, 'Z'}));
    CHECK(is_dead({1, 2, 0, 'X'}));
    CHECK_FALSE(is_dead({1, 2, 3, 'Z'}));  // its first thread alone has ended
    CHECK_FALSE(is_dead({1, 2, 1, 'T'}));
    CHECK_FALSE(is_dead({1, 2, 1, 'D'}));
}

TEST_CASE("process_identity: this process and a child -> they run until they end") {
    const process_identity self = process_identity::own();
    CHECK(self == process_identity::own());
    CHECK(self.id == ::getpid());
    REQUIRE_FALSE(self.boot.empty());
    CHECK(process_identity::state_of(self) == process_state::runs);
    process_identity earlier = self;
    --earlier.started;  // a process of the same number, before this one
    CHECK(process_identity::state_of(earlier) == process_state::ended);
    process_identity elsewhere = self;
    elsewhere.boot = "another";
    CHECK(process_identity::state_of(elsewhere) == process_state::unknown);
    elsewhere = self;
    ++elsewhere.pid_namespace;
    CHECK(process_identity::state_of(elsewhere) == process_state::unknown);
    CHECK(process_identity::state_of({}) == process_state::unknown);
    process_identity none = self;
    none.id = 0;
    CHECK(process_identity::state_of(none) == process_state::unknown);

    int pipe[2];
    REQUIRE(::pipe(pipe) == 0);
    const ::pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        const process_identity own = process_identity::own();
        const bool is_told = ::write(pipe[1], &own.started, sizeof own.started) > 0;
        ::pause();
        ::_exit(is_told ? 0 : 1);
    }
    process_identity of_child = self;
    of_child.id = child;
    REQUIRE(::read(pipe[0], &of_child.started, sizeof of_child.started) == sizeof of_child.started);
    CHECK(process_identity::state_of(of_child) == process_state::runs);
    ::kill(child, SIGSTOP);
    CHECK(process_identity::state_of(of_child) == process_state::runs);
    ::kill(child, SIGKILL);
    ::siginfo_t ended;
    REQUIRE(::waitid(P_PID, static_cast<::id_t>(child), &ended, WEXITED | WNOWAIT) == 0);
    CHECK(process_identity::state_of(of_child) == process_state::ended);  // a zombie
    REQUIRE(::waitpid(child, nullptr, 0) == child);
    CHECK(process_identity::state_of(of_child) == process_state::ended);
    ::close(pipe[0]);
    ::close(pipe[1]);
}
