#pragma once

#include <doctest/doctest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "sotto/core/clock.hpp"
#include "sotto/core/random.hpp"
#include "sotto/transports/simulated_faults.hpp"
#include "sotto/transports/simulated_options.hpp"
#include "sotto/transports/simulated_trace.hpp"
#include "sotto/transports/speeds.hpp"
#include "support/effort.hpp"
#include "support/generators.hpp"

namespace sotto::testing {

inline std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
    const char* const value = std::getenv(variable);
    return value ? std::strtoull(value, nullptr, 10) : otherwise;
}

/// Ranks that soon miss each other: number_model computes 30 ms an example.
inline simulated_options usual(std::uint64_t seed) {
    using namespace std::chrono_literals;
    simulated_options options{.seed = seed};
    options.line = {.out = 1e8, .in = 1e8, .latency = 50us};
    options.machine.flops = 2e5;
    options.slowness = speeds::uniform{};
    options.heartbeat = 40ms;
    options.dead_after = 200ms;
    options.timeout = 5s;
    return options;
}

/// 2 to 16 ranks, few more often than many: what a seed takes grows with their square.
inline int number_of_ranks(random_stream& random) {
    const auto one = random.below(15), other = random.below(15);
    return 2 + static_cast<int>(std::min(one, other));
}

/// How many faults a seed has: 1 to most, and in one of 16 none.
inline std::size_t number_of_faults(random_stream& random, std::uint64_t most) {
    const std::size_t some = 1 + random.below(most);
    return random.below(16) == 0 ? 0 : some;
}

/// The command that repeats a seed, from the root of the repository.
inline std::string command_for(std::uint64_t seed) {
    const std::filesystem::path root =
        std::filesystem::path(__FILE__).parent_path().parent_path().parent_path();
    std::error_code unknown;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", unknown);
    const auto from_root = program.lexically_proximate(root);
    const bool is_inside = !from_root.empty() && *from_root.begin() != "..";
    // A comma would begin another pattern.
    std::string test = doctest::getContextOptions()->currentTest->m_name;
    if (const auto comma = test.find(','); comma != test.npos) test.resize(comma);
    return "SOTTO_FAULT_SEEDS=1 SOTTO_FAULT_SEED=" + std::to_string(seed) + " " +
           (is_inside ? from_root : program).string() + " --test-case='" + test + "*'";
}

/// While it lives, a program that crashes, or needs longer for this seed than an alarm allows, says
/// which seed it was. Then it ends as it would have.
class named_seed {
public:
    /// `completed`: seeds before this one.
    named_seed(std::uint64_t seed, std::uint64_t completed) {
        text() = "seed " + std::to_string(seed) + " crashed or hung; again: " + command_for(seed) +
                 "\nseeds completed: " + std::to_string(completed) + "\n";
        struct sigaction own = {};
        own.sa_handler = &say;
        own.sa_flags = SA_ONSTACK;  // of a strand's stack there may be nothing left
        for (std::size_t i = 0; i < signals.size(); ++i)
            ::sigaction(signals[i], &own, &before()[i]);
        ::alarm(
            static_cast<unsigned>(number_from("SOTTO_FAULT_SEED_LIMIT", is_sanitized ? 300 : 60)));
    }
    named_seed(const named_seed&) = delete;
    named_seed& operator=(const named_seed&) = delete;
    ~named_seed() {
        ::alarm(0);
        restore();
    }

private:
    static constexpr std::array<int, 6> signals{SIGABRT, SIGSEGV, SIGALRM, SIGBUS, SIGFPE, SIGTERM};

    static std::string& text() {
        static std::string of_process;
        return of_process;
    }
    static std::array<struct sigaction, signals.size()>& before() {
        static std::array<struct sigaction, signals.size()> of_process{};
        return of_process;
    }
    static void restore() noexcept {
        for (std::size_t i = 0; i < signals.size(); ++i)
            ::sigaction(signals[i], &before()[i], nullptr);
    }
    static void say(int signal) {
        [[maybe_unused]] const auto written = ::write(2, text().data(), text().size());
        restore();
        ::raise(signal);
    }
};

/// Calls with SOTTO_FAULT_SEEDS seeds from SOTTO_FAULT_SEED on; one that fails ends no other. Says
/// how many ended.
template <class Check>
void for_each_seed(std::uint64_t usually, Check&& check) {
    const std::uint64_t first = number_from("SOTTO_FAULT_SEED", 0),
                        count = number_from("SOTTO_FAULT_SEEDS", is_sanitized ? 16 : usually);
    for (std::uint64_t seed = first; seed < first + count; ++seed) {
        const named_seed named(seed, seed - first);
        try {
            check(seed);
        } catch (const doctest::detail::TestFailureException&) {  // it has been said
        } catch (const std::exception& e) {
            FAIL_CHECK("it threw: " << e.what() << "; again: " << command_for(seed));
        }
    }
    std::fprintf(stderr, "seeds completed: %llu\n", static_cast<unsigned long long>(count));
}

/// What a failure of a seed says: the command that repeats it, and the faults.
inline std::string seed_note(std::uint64_t seed, const simulated_options& options) {
    std::string text = "again: " + command_for(seed) + "; faults:";
    for (const network_fault& f : options.faults) text += "\n    " + describe(f);
    return text;
}

/// Whether a fault ends a job that cannot do without a rank, whenever it comes.
inline bool is_deadly(const network_fault& f) noexcept {
    return !f.is_for_a_while() && f.what != network_fault::kind::restart;
}

/// By when others have noticed what is wrong since `f`, if all of them listen: a process's end and
/// a broken connection at once, a damaged packet once it comes, silence when it has lasted.
inline duration noticed_by(const network_fault& f, const simulated_options& options) {
    switch (f.what) {
        case network_fault::kind::crash:
        case network_fault::kind::cut: return f.at + 4 * options.line.latency;
        case network_fault::kind::power_loss:
            return f.at + options.dead_after + 2 * options.heartbeat;
        default: return f.at + 2 * options.heartbeat;
    }
}

/// What computing a gradient of number_model takes at most: work_of_gradient's 6 operations a
/// parameter and example, by the slowest that `usual` has.
inline duration slow_gradient(const simulated_options& options, int examples) {
    const double operations = 6.0 * static_cast<double>(small_layout().size()) * examples;
    const double seconds = operations / options.machine.flops * speeds::uniform{}.high;
    return std::chrono::duration_cast<duration>(std::chrono::duration<double>(seconds));
}

inline void add_ranks_of(const network_fault& f, std::set<int>& to) {
    to.insert(f.rank);
    if (f.is_of_connection()) to.insert(f.peer);
}

/// Ranks that a fault could end.
inline std::set<int> concerned_by(const simulated_options& options) {
    std::set<int> found;
    for (const network_fault& f : options.faults)
        if (!f.is_harmless(options.dead_after / 2)) add_ranks_of(f, found);
    return found;
}

/// Ranks that may be blamed for the end of a job that cannot do without a rank: those of the first
/// fault that ends it, and of faults that come before that one is noticed.
inline std::set<int> first_culprits(const simulated_options& options) {
    const auto is_noticed = [&](const network_fault& f) {
        if (!is_deadly(f)) return false;
        // Who is dead dies unnoticed; and who would notice a damage may have ended before.
        return std::none_of(options.faults.begin(), options.faults.end(), [&](const auto& other) {
            if (&other == &f || other.is_of_connection()) return false;
            if (!f.is_of_connection())
                return is_deadly(other) && other.rank == f.rank && other.at <= f.at;
            return (other.rank == f.rank || other.rank == f.peer) &&
                   other.at <= noticed_by(f, options);
        });
    };
    duration noticed = duration::max();
    for (const network_fault& f : options.faults)
        if (is_noticed(f)) noticed = std::min(noticed, noticed_by(f, options));
    std::set<int> found;
    for (const network_fault& f : options.faults)
        if (!f.is_harmless(options.dead_after / 2) && f.at <= noticed) add_ranks_of(f, found);
    return found;
}

/// How long faults hold up together what else goes on.
inline duration held_up_by(const simulated_options& options) {
    duration sum{};
    for (const network_fault& f : options.faults) sum += f.lasts + f.extra;
    return sum;
}

/// Listens to a run, for when each of its faults could first be noticed: a packet that is damaged
/// when it is sent, a silent rank when it was last heard two heartbeats before its end.
class fault_effects {
public:
    explicit fault_effects(const simulated_options& options)
        : options_(&options), since_(options.faults.size(), duration::max()) {}

    void operator()(const simulated_event& e) {
        const duration now = e.when.time_since_epoch();
        if (e.what == simulated_event::kind::harmed) begin(e, now);
        if (e.what != simulated_event::kind::sent || e.size == 0) return;
        if (auto& next = to_damage_[{e.rank, e.peer}]; !next.empty()) {
            since_[next.front()] = now;
            next.pop_front();
        }
    }

    /// Whether one fault concerned all of the ranks that survivors blame: of a connection that
    /// broke some ranks hear first from one end and some from the other, and each end blames the
    /// other one. Or several faults, which could all be noticed before the word of another one was
    /// everywhere: heartbeats leave all ranks in the same moment, and may be damaged together. Who
    /// notices a failure before it hears of another one names that (see membership).
    ///   `first`     when the first survivor ended that blames a rank: the word was on its way
    bool explain(const std::set<int>& blamed, duration first) const {
        if (blamed.empty()) return true;
        const duration everywhere = first + 4 * options_->line.latency + held_up_by(*options_);
        std::set<int> together;
        for (std::size_t i = 0; i < since_.size(); ++i) {
            std::set<int> of_it;
            add_ranks_of(options_->faults[i], of_it);
            if (std::includes(of_it.begin(), of_it.end(), blamed.begin(), blamed.end()))
                return true;
            if (since_[i] <= everywhere) together.insert(of_it.begin(), of_it.end());
        }
        return std::includes(together.begin(), together.end(), blamed.begin(), blamed.end());
    }

private:
    void begin(const simulated_event& e, duration now) {
        for (std::size_t i = 0; i < since_.size(); ++i) {
            const network_fault& f = options_->faults[i];
            const bool is_it = f.at == now && f.rank == e.rank && f.peer == e.peer &&
                               static_cast<std::int64_t>(f.what) == e.size;
            if (!is_it) continue;
            switch (f.what) {
                case network_fault::kind::flip:
                case network_fault::kind::truncate:
                case network_fault::kind::duplicate:
                    to_damage_[{f.rank, f.peer}].push_back(i);
                    break;
                case network_fault::kind::power_loss:
                    since_[i] = now + options_->dead_after - 2 * options_->heartbeat;
                    break;
                default: since_[i] = now;
            }
        }
    }

    const simulated_options* options_;
    std::vector<duration> since_;
    std::map<std::pair<int, int>, std::deque<std::size_t>> to_damage_;  // by what is sent next
};

}  // namespace sotto::testing
