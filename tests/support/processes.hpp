#pragma once

#include <doctest/doctest.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace sotto::testing {

/// Other processes that run parts of a test; what is still there at the end is killed.
class processes {
public:
    processes() = default;
    processes(const processes&) = delete;
    processes& operator=(const processes&) = delete;
    ~processes() {
        for (child& c : children_)
            if (c.id > 0) {
                ::kill(c.id, SIGKILL);
                ::waitpid(c.id, nullptr, 0);
            }
        for (child& c : children_) ::close(c.reads);
    }

    /// Starts one that calls f(say), where say(value) sends a plain value to this process.
    template <class F>
    void start(F f) {
        std::array<int, 2> ends{};
        REQUIRE(::pipe(ends.data()) == 0);
        const pid_t id = ::fork();
        REQUIRE(id >= 0);
        if (id == 0) {
            ::close(ends[0]);
            int result = 1;
            try {
                f([&](const auto& value) {
                    static_assert(std::is_trivially_copyable_v<std::decay_t<decltype(value)>>);
                    [[maybe_unused]] const auto written = ::write(ends[1], &value, sizeof value);
                });
                result = 0;
            } catch (const std::exception& e) {
                std::fprintf(stderr, "process %d: %s\n", static_cast<int>(::getpid()), e.what());
            } catch (...) {
                std::fprintf(stderr, "process %d: no std::exception\n",
                             static_cast<int>(::getpid()));
            }
            ::_exit(result);  // no destructor of the test's runs twice
        }
        ::close(ends[1]);
        children_.push_back({id, ends[0]});
    }

    /// The next value that a process sent; false if it ended without.
    template <class Value>
    bool hear(std::size_t which, Value& value) {
        auto* to = reinterpret_cast<char*>(&value);
        std::size_t left = sizeof value;
        while (left > 0) {
            const ssize_t count = ::read(children_[which].reads, to, left);
            if (count < 0 && errno == EINTR) continue;
            if (count <= 0) return false;
            to += count;
            left -= static_cast<std::size_t>(count);
        }
        return true;
    }

    void signal(std::size_t which, int number) { ::kill(children_[which].id, number); }

    /// Returns once all threads of one seem to wait for something.
    void wait_until_asleep(std::size_t which) {
        const std::string tasks = "/proc/" + std::to_string(children_[which].id) + "/task";
        for (int in_turn = 0; in_turn < 5; ++in_turn) {
            for (const auto& task : std::filesystem::directory_iterator(tasks)) {
                std::ifstream file(task.path() / "stat");
                std::string state;
                std::getline(file, state, ')');  // its number, and the name in parentheses
                if (file >> state && state != "S") in_turn = -1;
            }
            ::usleep(5000);
        }
    }

    /// Stops one; returns once it does nothing more until SIGCONT.
    void halt(std::size_t which) {
        signal(which, SIGSTOP);
        int status = 0;
        REQUIRE(::waitpid(children_[which].id, &status, WUNTRACED) == children_[which].id);
        REQUIRE(WIFSTOPPED(status));
    }

    /// How a process ended, as waitpid tells it.
    int wait(std::size_t which) {
        int status = 0;
        ::waitpid(std::exchange(children_[which].id, 0), &status, 0);
        return status;
    }

private:
    struct child {
        pid_t id;
        int reads;
    };

    std::vector<child> children_;
};

}  // namespace sotto::testing
