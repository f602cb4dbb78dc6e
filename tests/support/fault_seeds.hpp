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
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "sotto/core/clock.hpp"
#include "sotto/core/random.hpp"
#include "sotto/transports/run_simulated.hpp"
#include "sotto/transports/simulated.hpp"
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
    std::replace(test.begin(), test.end(), ',', '?');
    return "SOTTO_FAULT_SEEDS=1 SOTTO_FAULT_SEED=" + std::to_string(seed) + " " +
           (is_inside ? from_root : program).string() + " --test-case='" + test + "'";
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

/// Up to how long what a seed draws lasts: for most of that ranks that live count as dead.
inline duration longest_of(const simulated_options& options) {
    return 3 * options.dead_after;
}

/// Whether a seed is run twice.
inline bool is_repeated(std::uint64_t seed) {
    return seed % 20 == 0;
}

/// What computing a gradient of number_model takes at most: gradient_cost's 6 operations a
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

/// Until when a fault holds up something.
inline duration end_of(const network_fault& f) {
    return f.at + f.lasts + f.extra;
}

/// How long nothing of one rank comes to another one for what faults do, if they do it one after
/// the other. Whoever has no power is silent for ever.
inline duration silence_between(const simulated_options& options, int from, int to) {
    duration sum{};
    for (const network_fault& f : options.faults) {
        if (f.rank != from) continue;
        if (f.what == network_fault::kind::power_loss) sum += options.dead_after;
        if (f.what == network_fault::kind::pause) sum += f.lasts;
        if (f.what == network_fault::kind::partition && f.peer == to) sum += f.lasts;
        if (f.what == network_fault::kind::delay && f.peer == to) sum += f.extra;
    }
    return sum;
}

/// Whether a fault could end a rank. Of those that last each may be harmless and all together not.
/// A rank says that it lives every heartbeat, and is missed at one: half of dead_after is borne.
inline bool is_grave(const network_fault& f, const simulated_options& options) {
    if (!f.is_for_a_while()) return !f.is_harmless(options.dead_after);
    const auto is_silent = [&](int to) {
        return silence_between(options, f.rank, to) >= options.dead_after / 2;
    };
    if (f.is_of_connection()) return is_silent(f.peer);
    return is_silent(f.rank) ||  // to whom there is no other fault
           std::any_of(options.faults.begin(), options.faults.end(), [&](const auto& other) {
               return other.rank == f.rank && other.is_of_connection() && is_silent(other.peer);
           });
}

/// Ranks that a fault could end.
inline std::set<int> concerned_by(const simulated_options& options) {
    std::set<int> found;
    for (const network_fault& f : options.faults)
        if (is_grave(f, options)) add_ranks_of(f, found);
    return found;
}

/// By when something that would have ended at a time ends where faults hold it up, and takes no
/// longer than `longest` once none does.
inline duration held_up(const simulated_options& options, duration end, duration longest) {
    for (const network_fault& f : options.faults)  // in order of time
        if (f.is_for_a_while() && f.at <= end)
            end = std::max(end, std::min(end + f.lasts + f.extra, end_of(f) + longest));
    return end;
}

/// By when a rank is missed that has been silent since a fault. What it sent before may come late.
inline duration missed_by(const network_fault& f, const simulated_options& options) {
    duration last = f.at;
    for (const network_fault& other : options.faults)
        if (other.is_for_a_while() && other.at <= f.at) last = std::max(last, end_of(other));
    return last + options.dead_after + 2 * options.heartbeat;
}

/// When a word that is sent at a time comes to a rank, by what faults then hold it up.
inline duration comes_at(const simulated_options& options, int from, int to, duration sent) {
    const duration moment = 4 * options.line.latency;
    duration comes = sent;
    for (bool changed = true; changed;) {
        changed = false;
        for (const network_fault& f : options.faults) {
            const bool is_on_way = f.rank == from && f.peer == to;
            duration until = comes;
            if (f.what == network_fault::kind::pause && f.rank == to && f.at <= comes + moment)
                until = f.at + f.lasts;
            else if (f.what == network_fault::kind::partition && is_on_way &&
                     f.at <= comes + moment)
                until = f.at + f.lasts;
            else if (f.what == network_fault::kind::delay && is_on_way && f.at <= sent + moment)
                until = std::min(sent, f.at + f.lasts) + f.extra;
            if (until <= comes) continue;
            comes = until;
            changed = true;
        }
    }
    return comes;
}

/// Listens to a run: since when each of its faults could be noticed, and when each rank first heard
/// of a failure.
class fault_effects {
public:
    fault_effects(const simulated_options& options, int ranks)
        : options_(&options),
          since_(options.faults.size(), duration::max()),
          latest_(options.faults.size()),
          transports_(static_cast<std::size_t>(ranks)),
          heard_(static_cast<std::size_t>(ranks), duration::max()) {}

    /// While it lives, its rank is asked.
    class watched {
    public:
        watched(fault_effects& by, const simulated& transport) : by_(&by), transport_(&transport) {
            by_->transports_[static_cast<std::size_t>(transport.rank())] = transport_;
        }
        watched(const watched&) = delete;
        watched& operator=(const watched&) = delete;
        ~watched() {
            by_->ask(transport_->rank(), transport_->now().time_since_epoch());
            by_->transports_[static_cast<std::size_t>(transport_->rank())] = nullptr;
        }

    private:
        fault_effects* by_;
        const simulated* transport_;
    };
    watched watch(const simulated& transport) { return {*this, transport}; }

    void operator()(const detail::simulated_event& e) {
        const duration now = e.when.time_since_epoch();
        if (e.what == detail::simulated_event::kind::harmed) begin(e, now);
        if (e.what != detail::simulated_event::kind::sent) return;
        ask(e.rank, now);  // who hears of a failure says so at once
        if (e.size == 0) return;
        if (auto& next = to_damage_[{e.rank, e.peer}]; !next.empty()) {
            since_[next.front()] = now;
            latest_[next.front()] = comes_at(*options_, e.rank, e.peer, now) + moment();
            next.pop_front();
        }
    }

    /// What is wrong with whom ranks blame, in words. A rank may blame whom a fault concerns that
    /// could be noticed before the first word of a failure was everywhere: where nothing holds it
    /// up, that takes it twice the way from one rank to another. So all survivors blame one fault,
    /// of a connection perhaps each end the other one; or several that could be noticed in the
    /// same moment, which for silence is anywhen between four heartbeats.
    ///   `blames`   by rank; nobody: it was killed, or did not fail
    ///   `survive`  ranks that no fault concerns
    std::string objections(const std::vector<std::optional<int>>& blames,
                           const std::set<int>& survive) const {
        std::string text;
        int first = -1;
        for (int rank = 0; rank < static_cast<int>(blames.size()); ++rank)
            if (at(blames, rank) && (first < 0 || at(heard_, rank) < at(heard_, first)))
                first = rank;
        if (first < 0) return text;
        const duration said = at(heard_, first);
        std::set<int> blamed, in_the_same_moment;
        for (int rank = 0; rank < static_cast<int>(blames.size()); ++rank) {
            if (!at(blames, rank)) continue;
            const duration by = comes_at(*options_, first, rank, said) + moment();
            std::set<int> possible;
            for (std::size_t i = 0; i < since_.size(); ++i) {
                if (since_[i] > by) continue;
                add_ranks_of(options_->faults[i], possible);
                if (survive.contains(rank) && latest_[i] >= said)
                    add_ranks_of(options_->faults[i], in_the_same_moment);
            }
            if (!possible.contains(*at(blames, rank)))
                text += "rank " + std::to_string(rank) + " blames " +
                        std::to_string(*at(blames, rank)) + "; ";
            if (survive.contains(rank)) blamed.insert(*at(blames, rank));
        }
        bool is_one = std::includes(in_the_same_moment.begin(), in_the_same_moment.end(),
                                    blamed.begin(), blamed.end());
        for (const network_fault& f : options_->faults) {
            std::set<int> of_it;
            add_ranks_of(f, of_it);
            is_one |= std::includes(of_it.begin(), of_it.end(), blamed.begin(), blamed.end());
        }
        if (!is_one) text += "survivors blame ranks that no one fault concerns; ";
        if (!text.empty()) text += "first said at " + std::to_string(in_seconds(said)) + " s";
        return text;
    }

private:
    template <class Of>
    static const Of& at(const std::vector<Of>& all, int rank) {
        return all[static_cast<std::size_t>(rank)];
    }

    /// What a word takes that nothing holds up: a third rank may pass it on, and lines are busy.
    duration moment() const { return 4 * options_->line.latency + std::chrono::milliseconds(2); }

    void ask(int rank, duration now) {
        duration& when = heard_[static_cast<std::size_t>(rank)];
        const simulated* const transport = at(transports_, rank);
        if (when == duration::max() && transport && transport->first_failed()) when = now;
    }

    void begin(const detail::simulated_event& e, duration now) {
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
                case network_fault::kind::delay:
                case network_fault::kind::partition:
                case network_fault::kind::pause:
                    if (!is_grave(f, *options_)) break;
                    [[fallthrough]];
                case network_fault::kind::power_loss:  // last heard two heartbeats before, at most
                    since_[i] = now + options_->dead_after - 2 * options_->heartbeat;
                    latest_[i] = missed_by(f, *options_) + moment();
                    break;
                default:  // told at once, to whom does not pause
                    since_[i] = latest_[i] = now;
                    for (const network_fault& other : options_->faults)
                        if (other.what == network_fault::kind::pause && other.at <= now + moment())
                            latest_[i] = std::max(latest_[i], end_of(other));
                    latest_[i] += moment();
            }
        }
    }

    const simulated_options* options_;
    std::vector<duration> since_;   // each fault could be noticed; never: it had no effect
    std::vector<duration> latest_;  // that somebody notices it
    std::map<std::pair<int, int>, std::deque<std::size_t>> to_damage_;  // by what is sent next
    std::vector<const simulated*> transports_;                          // by rank
    std::vector<duration> heard_;                                       // when each rank did
};

/// The most bytes that wait at a rank for their receive, of one other rank.
inline std::int64_t most_queued(const simulated& transport) {
    std::int64_t most = 0;
    for (int peer = 0; peer < transport.size(); ++peer)
        most = std::max(most, transport.queued_bytes(peer));
    return most;
}

/// What is left of a run whatever goes wrong, and where no fault is grave.
inline void check_left(const detail::simulated_run& run, const std::set<int>& concerned) {
    CHECK(run.left.timers == 0);
    CHECK(run.left.packets == 0);
    if (concerned.empty()) CHECK(run.left.transfers == 0);
}

}  // namespace sotto::testing
