#pragma once

// Ranks that are processes of this machine, which a study kills and starts again.

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>
#include <sotto/core/errors.hpp>

namespace study {

inline double seconds_since(std::chrono::steady_clock::time_point then) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - then).count();
}

/// A count in memory of all processes.
class shared_count {
    using counter = std::atomic<std::int64_t>;
    static_assert(counter::is_always_lock_free);

public:
    shared_count() {
        void* const memory = ::mmap(nullptr, sizeof(counter), PROT_READ | PROT_WRITE,
                                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) throw std::runtime_error("no memory for all processes");
        count_ = new (memory) counter(0);
    }
    shared_count(const shared_count&) = delete;
    shared_count& operator=(const shared_count&) = delete;
    ~shared_count() { ::munmap(count_, sizeof(counter)); }

    void add() noexcept { ++*count_; }
    std::int64_t value() const noexcept { return *count_; }

    /// Waits until it is as much; false if that does not come in time.
    bool reaches(std::int64_t value, std::chrono::seconds in_time) const {
        const auto began = std::chrono::steady_clock::now();
        while (*count_ < value) {
            if (std::chrono::steady_clock::now() - began > in_time) return false;
            std::this_thread::sleep_for(std::chrono::microseconds(100));
        }
        return true;
    }

private:
    counter* count_;
};

/// Processes, each of which leaves what it saw as JSON in a file of a folder.
class processes {
public:
    processes(std::filesystem::path folder, int count)
        : folder_(std::move(folder)), all_(static_cast<std::size_t>(count)) {}

    /// `be()` in a process of its own: gives what it saw. What it throws is told under "error",
    /// and under "blames" the rank that it names.
    void start(int which, auto&& be) {
        const pid_t id = ::fork();
        if (id < 0) throw std::runtime_error("no process for a rank");
        if (id != 0) {
            of(which) = {.id = id};
            return;
        }
        int status = 1;
        nlohmann::json found{{"process", which}};
        try {
            found = be();
            status = 0;
        } catch (const sotto::peer_failure& e) {
            found["blames"] = e.rank();
            found["error"] = e.what();
        } catch (const std::exception& e) {
            found["error"] = e.what();
        }
        std::ofstream(told_by(which)) << found.dump() << "\n";
        ::_exit(status);
    }

    /// All of these at once, before one could learn from another that it is gone: those that were
    /// there to be killed.
    std::vector<int> kill(const std::vector<int>& which) {
        std::vector<int> there;
        for (const int one : which)
            if (process& p = of(one); ::waitpid(p.id, &p.status, WNOHANG) == 0)
                there.push_back(one);
            else
                p.is_over = true;
        for (const int one : there) ::kill(of(one).id, SIGKILL);
        for (const int one : there) {
            ::waitpid(of(one).id, &of(one).status, 0);
            of(one).is_over = true;
        }
        return there;
    }

    /// Until all have ended; who takes longer hangs, and is killed.
    void wait(std::chrono::seconds at_most) {
        const auto began = std::chrono::steady_clock::now();
        for (bool all = false; !all;) {
            all = true;
            for (process& p : all_) {
                if (p.is_over) continue;
                if (::waitpid(p.id, &p.status, WNOHANG) == 0) {
                    if (std::chrono::steady_clock::now() - began <= at_most) {
                        all = false;
                        continue;
                    }
                    ::kill(p.id, SIGKILL);
                    ::waitpid(p.id, &p.status, 0);
                    p.hung = true;
                }
                p.is_over = true;
                p.ended = seconds_since(began);
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
    }

    /// How each one's last process ended, seconds after the wait began, and what it saw.
    nlohmann::json endings() const {
        nlohmann::json all = nlohmann::json::array();
        for (const process& p : all_) {
            nlohmann::json one{{"process", all.size()}};
            if (std::ifstream in(told_by(static_cast<int>(all.size()))); in)
                one = nlohmann::json::parse(in);
            one["hung"] = p.hung;
            one["status"] = p.status;
            one["ended"] = p.ended;
            all.push_back(std::move(one));
        }
        return all;
    }

private:
    struct process {
        pid_t id = 0;
        int status = 0;
        bool is_over = false;
        bool hung = false;
        double ended = 0.0;
    };

    process& of(int which) noexcept { return all_[static_cast<std::size_t>(which)]; }
    std::filesystem::path told_by(int which) const {
        return folder_ / ("process" + std::to_string(which) + ".json");
    }

    std::filesystem::path folder_;
    std::vector<process> all_;
};

}  // namespace study
