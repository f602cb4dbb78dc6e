#include "transport.hpp"

#include <sotto/core/errors.hpp>
#include <sotto/core/exit_code.hpp>
#include <sotto/core/placement.hpp>
#include <sotto/core/standard_streams.hpp>
#include <sotto/launch/environment.hpp>
#include <sotto/transports/fail_with_exception.hpp>
#include <sotto/transports/diagnostics.hpp>
#include <sotto/transports/run_in_process.hpp>
#include <sotto/transports/run_simulated.hpp>
#include <sotto/transports/speeds.hpp>
#include <sotto/transports/tcp.hpp>

#if SOTTO_EXAMPLES_WITH_TLS
#include <sotto/transports/tcp_tls.hpp>
#endif
#if SOTTO_EXAMPLES_WITH_MPI
#include <sotto/transports/mpi.hpp>
#endif

#include <chrono>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace examples {

namespace {

constexpr const char* exit_codes =
    "Exit status:\n"
    "  0  done\n"
    "  1  fault: too little was learnt, a value is not finite, a disk, a bug\n"
    "  2  usage: options, configuration or input that cannot work; do not retry\n"
    "  3  another rank or the network failed; start all ranks again\n"
    "  4  the work is done, but output that was asked for is incomplete";

sotto::placement placed() {
    const sotto::placement place = sotto::launch::from_environment();
    if (place.launcher == "nobody")
        throw sotto::invalid_option(
            "--transport tcp: nobody says which rank this is. Start it by 'sotto_launch -n 4 "
            "PROGRAM --transport tcp', by torchrun or srun, or set SOTTO_RANK, SOTTO_SIZE, "
            "SOTTO_ADDRESS and SOTTO_PORT for each process");
    return place;
}

sotto::tcp_options tcp_place(const transport_options& chosen) {
    auto options = sotto::tcp_options::at(placed());
    options.insecure_network = chosen.insecure_network;
    options.elastic = chosen.elastic;
    if (!chosen.secret.empty()) {
#if SOTTO_EXAMPLES_WITH_TLS
        options.security = sotto::pre_shared_key::from_file(chosen.secret);
#else
        throw sotto::invalid_option(
            "--secret: this program was built where there was no OpenSSL. Install it (Debian: "
            "libssl-dev), configure anew and build again");
#endif
    }
    return options;
}

/// Calls f. If f throws, notifies the other ranks, as run_in_process does.
void run_rank(auto& transport, const std::function<void(any_transport&)>& f) {
    transport_of any(transport);
    try {
        f(any);
    } catch (...) {
        sotto::fail_with_exception(transport);
        throw;
    }
}

void over_mpi([[maybe_unused]] const std::function<void(any_transport&)>& f) {
#if SOTTO_EXAMPLES_WITH_MPI
    sotto::mpi transport = sotto::mpi::join();
    run_rank(transport, f);
#else
    throw sotto::invalid_option(
        "--transport mpi: this program was built where there was no MPI. Install one (Debian: "
        "libopenmpi-dev openmpi-bin), configure anew and build again");
#endif
}

/// Refuses flags that the selected transport does not use.
void require_used(const CLI::App& app, transport_kind kind) {
    const bool simulated = kind == transport_kind::simulated, tcp = kind == transport_kind::tcp;
    require_effect(app, "--workers", simulated || kind == transport_kind::in_process,
                   "--transport in-process and simulated; whoever starts the processes says how "
                   "many there are, as 'sotto_launch -n 4' or 'mpirun -n 4'");
    for (const char* const flag : {"--secret", "--insecure-network"})
        require_effect(app, flag, tcp, "--transport tcp");
    for (const char* const flag : {"--simulated-megabits", "--simulated-slow", "--simulated-flops"})
        require_effect(app, flag, simulated, "--transport simulated");
    if (app.get_option("--secret")->count() > 0)
        require_effect(app, "--insecure-network", false, "no --secret");
}

constexpr int done = static_cast<int>(sotto::exit_code::done),
              usage = static_cast<int>(sotto::exit_code::usage);

/// Parses the flags and calls `work`.
int work_as_asked(CLI::App& app, int argc, char** argv, const std::function<int()>& work) {
    try {
        app.parse(argc, argv);
        std::setvbuf(stdout, nullptr, _IOLBF, 0);  // in order with the progress bar's stderr
        return work();
    } catch (const CLI::ExtrasError&) {  // its own message lists them last to first
        std::string all;
        for (const std::string& one : app.remaining()) all += " " + one;
        return app.exit(CLI::ExtrasError("these arguments were not expected:" + all,
                                         CLI::ExitCodes::ExtrasError)),
               usage;
    } catch (const CLI::ParseError& e) {  // also contradictory flags
        return app.exit(e) == 0 ? done : usage;
    }
}

std::mutex noting;
std::vector<std::string> incomplete;  // a sentence for each output

}  // namespace

int ranks_of(const transport_options& chosen) {
    if (chosen.kind == transport_kind::tcp) return placed().size;
    return chosen.kind == transport_kind::mpi ? 0 : chosen.workers;
}

bool has_rank(const transport_options& chosen, int rank) {
    if (chosen.kind == transport_kind::tcp) return placed().rank == rank;
    return rank < ranks_of(chosen);
}

void add_transport(CLI::App& app, transport_options& chosen) {
    const std::map<std::string, transport_kind> names{{"in-process", transport_kind::in_process},
                                                      {"tcp", transport_kind::tcp},
                                                      {"mpi", transport_kind::mpi},
                                                      {"simulated", transport_kind::simulated}};
    const auto choose = [names, &chosen](const std::string& name) {
        const auto found = names.find(name);
        if (found == names.end())
            throw CLI::ValidationError("--transport",
                                       "'" + name + "' is none of in-process, tcp, mpi, simulated");
        chosen.kind = found->second;
    };
    const std::string help =
        "How ranks talk: in-process, where they are threads; tcp, where sotto_launch, torchrun or "
        "srun starts each as a process; mpi, where mpirun does; simulated, where they are threads, "
        "and time is that of a network which does not exist";
    app.add_option_function<std::string>("--transport", choose, help)
        ->type_name("NAME")
        ->default_str("in-process");
    app.add_option("--workers", chosen.workers, "How many ranks there are, in-process or simulated")
        ->check(number_from(1, 10'000))
        ->capture_default_str();
    app.add_option("--secret", chosen.secret,
                   "tcp: a file alike on all machines, which keeps "
                   "strangers out and what is sent secret");
    app.add_flag("--insecure-network", chosen.insecure_network,
                 "tcp: no secret is needed, since nobody else is on the network");
    app.add_option("--simulated-megabits", chosen.megabits, "Of every rank's line, a second")
        ->check(number_from(0.001, 1e6))
        ->capture_default_str();
    app.add_option("--simulated-slow", chosen.slow, "How much slower the last rank computes")
        ->check(number_from(1.0, 1e6))
        ->capture_default_str();
    app.add_option("--simulated-flops", chosen.flops, "That a rank computes a second")
        ->check(number_from(1e3, 1e18))
        ->capture_default_str();
    app.add_flag_callback(
        "--no-diagnostics", [] { sotto::on_diagnostic = nullptr; },
        "Nothing is said on stderr of ranks that go and come, of what is dropped or not saved");
    app.final_callback([&app, &chosen] { require_used(app, chosen.kind); });
}

sotto::simulated_options network_of(const transport_options& chosen) {
    sotto::simulated_options options{.seed = chosen.seed};
    options.line = sotto::simulated_options::connection::ethernet(1e6 * chosen.megabits,
                                                                  std::chrono::microseconds(50));
    options.machine.flops = chosen.flops;
    options.slowness = sotto::speeds::one_slow{.rank = chosen.workers - 1,
                                               .factor = chosen.slow,
                                               .others = sotto::speeds::exponential{.fixed = 0.8}};
    return options;
}

void with_transport(const transport_options& chosen, const std::function<void(any_transport&)>& f) {
    switch (chosen.kind) {
        case transport_kind::in_process:
            return sotto::run_in_process(chosen.workers, [&](sotto::in_process& transport) {
                transport_of any(transport);
                f(any);
            });
        case transport_kind::tcp: {
            sotto::tcp transport = sotto::tcp::join(tcp_place(chosen));
            return run_rank(transport, f);
        }
        case transport_kind::mpi: return over_mpi(f);
        case transport_kind::simulated:
            sotto::run_simulated(chosen.workers, network_of(chosen),
                                 [&](sotto::simulated& transport) {
                                     transport_of any(transport);
                                     f(any);
                                 });
    }
}

sotto::fit_report noted(sotto::fit_report report) {
    const std::lock_guard lock(noting);
    incomplete.insert(incomplete.end(), report.incomplete.begin(), report.incomplete.end());
    return report;
}

int run(CLI::App& app, int argc, char** argv, const std::function<int()>& work) {
    sotto::open_standard_streams();
    app.footer(exit_codes);
    try {
        const int status = work_as_asked(app, argc, argv, work);
        if (status != done) return status;
        sotto::require_complete_output(incomplete);
        sotto::require_standard_output();
        return done;
    } catch (...) {
        return sotto::report_exception(app.get_name());
    }
}

}  // namespace examples
