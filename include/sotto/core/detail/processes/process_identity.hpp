#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "sotto/core/detail/files/read_text.hpp"

namespace sotto::detail {

/// State of a process, as seen from this one.
///   runs     it exists; it may be halted
///   ended    it no longer exists
///   unknown  it is on another machine or in another container, or hidden
enum class process_state : std::uint8_t { runs, ended, unknown };

/// Identifies a process, so that another process, even a later one, can check if it still runs. A
/// process number is not enough, because the system reuses it.
struct process_identity {
    std::string host{};               // name of the host, for people
    std::string boot{};               // identifies the boot of the machine; empty: unknown
    std::uint64_t pid_namespace = 0;  // namespace in which `id` is valid
    std::int64_t id = 0;
    std::int64_t started = 0;  // clock ticks after the boot

    friend bool operator==(const process_identity&, const process_identity&) = default;

    /// Returns the identity of this process.
    static process_identity own();
    /// Returns the state of the other process, as seen from this one.
    static process_state state_of(const process_identity& other);
};

/// Fields of a process in /proc.
struct process_stat {
    std::int64_t id = 0, started = 0, threads = 0;
    char state = '?';
};

/// Reads /proc/PID/stat: "id (name) state ..." and the fields after it. A name may contain blanks
/// and parentheses.
std::optional<process_stat> read_process_stat(std::string_view text);

/// True if a process has ended but its parent has not waited for it. If only the first thread has
/// ended, the state is the same but there are more threads.
bool is_dead(const process_stat& process) noexcept;

inline process_identity process_identity::own() {
    process_identity self;
    std::array<char, 256> name{};
    if (::gethostname(name.data(), name.size() - 1) == 0) self.host = name.data();
    self.id = ::getpid();
    std::error_code why;
    std::string boot = read_text("/proc/sys/kernel/random/boot_id", why);
    while (!boot.empty() && boot.back() == '\n') boot.pop_back();
    std::array<char, 64> space{};
    const auto size = ::readlink("/proc/self/ns/pid", space.data(), space.size() - 1);
    const std::string_view link(space.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
    if (const std::size_t at = link.find('['); at != link.npos)
        std::from_chars(link.data() + at + 1, link.data() + link.size(), self.pid_namespace);
    const auto stat = read_process_stat(read_text("/proc/self/stat", why));
    // A /proc of other processes, such as that of another container, is useless.
    if (!stat || stat->id != self.id || self.pid_namespace == 0) return self;
    self.boot = boot;
    self.started = stat->started;
    return self;
}

inline process_state process_identity::state_of(const process_identity& other) {
    const process_identity self = own();
    if (self.boot.empty() || other.boot != self.boot || other.pid_namespace != self.pid_namespace ||
        other.id < 1 || other.id > INT_MAX)
        return process_state::unknown;
    const bool is_gone = ::kill(static_cast<::pid_t>(other.id), 0) != 0 && errno == ESRCH;
    if (is_gone) return process_state::ended;
    std::error_code why;
    const std::string path = "/proc/" + std::to_string(other.id) + "/stat";
    const auto stat = read_process_stat(read_text(path.c_str(), why));
    if (!stat) return process_state::unknown;  // hidden, or about to end
    const bool has_ended = stat->started != other.started || is_dead(*stat);
    return has_ended ? process_state::ended : process_state::runs;
}

}  // namespace sotto::detail

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/core/detail/processes/process_identity.ipp"
#endif
