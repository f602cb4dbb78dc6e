#include "sotto/launch/detail/job_mark.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "sotto/launch/detail/system_calls.hpp"

using sotto::detail::launch::job_mark;
using sotto::detail::launch::pipe_ends;

namespace {

/// A program that waits, started with these variables.
class waiting_program {
public:
    explicit waiting_program(std::vector<std::string> variables) {
        std::vector<char*> all;
        for (std::string& one : variables) all.push_back(one.data());
        all.push_back(nullptr);
        std::string name = "tail", follow = "-f", file = "/dev/null";
        const std::array<char*, 4> arguments{name.data(), follow.data(), file.data(), nullptr};
        pipe_ends started = sotto::detail::launch::open_pipe();
        id_ = ::fork();
        REQUIRE(id_ >= 0);
        if (id_ == 0) {
            ::execve("/usr/bin/tail", arguments.data(), all.data());
            ::_exit(127);
        }
        started.write.close();
        char none = 0;
        CHECK(::read(started.read.handle(), &none, 1) == 0);  // it is the program by now
    }
    waiting_program(const waiting_program&) = delete;
    waiting_program& operator=(const waiting_program&) = delete;
    ~waiting_program() {
        ::kill(id_, SIGKILL);
        ::waitpid(id_, nullptr, 0);
    }

    bool is_found_by(const job_mark& mark) const {
        std::array<pid_t, 16> room{};
        const auto found = mark.find(room);
        return std::find(found.begin(), found.end(), id_) != found.end();
    }

private:
    pid_t id_ = 0;
};

std::string variable(const job_mark& mark) {
    return std::string(job_mark::name) + "=" + std::string(mark.value());
}

}  // namespace

TEST_CASE("processes are known by their job's variable, wherever it stands") {
    const job_mark ours, others;
    CHECK(ours.value() != others.value());
    // The variable moves across the end of a piece that is read at once.
    const std::size_t length = variable(ours).size();
    for (std::size_t before = 4096 - length - 3; before < 4096 + 3; before += 3) {
        const waiting_program program(
            {"LONG=" + std::string(before - 6, 'x'), variable(ours), "LAST=1"});
        CHECK(program.is_found_by(ours));
        CHECK_FALSE(program.is_found_by(others));
    }
    CHECK(waiting_program({variable(ours)}).is_found_by(ours));
}

TEST_CASE("processes without it, and those that are more than there is room for, are left out") {
    const job_mark mark;
    CHECK_FALSE(waiting_program({}).is_found_by(mark));
    CHECK_FALSE(waiting_program({variable(mark) + "0"}).is_found_by(mark));
    const waiting_program first({variable(mark)}), second({variable(mark)});
    std::array<pid_t, 4> room{};
    CHECK(mark.find(room).size() == 2);
    CHECK(mark.find(std::span(room).first(1)).size() == 1);
    CHECK(mark.find({}).empty());
}
