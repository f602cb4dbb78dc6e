#include "transport.hpp"

#include <sotto/core/errors.hpp>
#include <sotto/launch/environment.hpp>
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
#include <cstdlib>
#include <exception>
#include <map>
#include <string>

namespace examples {

namespace {

sotto::tcp_options tcp_place(const transport_options& chosen) {
    const sotto::placement place = sotto::launch::from_environment();
    if (place.launcher == "nobody")
        throw sotto::invalid_option(
            "--transport tcp: nobody says which rank this is. Start it by 'sotto_launch -n 4 "
            "PROGRAM --transport tcp', by torchrun or srun, or set SOTTO_RANK, SOTTO_SIZE, "
            "SOTTO_ADDRESS and SOTTO_PORT for each process");
    auto options = sotto::tcp_options::at(place);
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

/// As run_in_process does: a rank that throws says so to the others.
void run_rank(auto& transport, const std::function<void(any_transport&)>& f) {
    transport_of any(transport);
    try {
        f(any);
    } catch (const std::exception& e) {
        transport.fail(e.what());
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

}  // namespace

std::string at_least_one(const std::string& number) {
    return std::atoll(number.c_str()) >= 1 ? "" : "is " + number + "; it must be at least 1";
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
        ->check(at_least_one)
        ->capture_default_str();
    app.add_option("--secret", chosen.secret,
                   "tcp: a file alike on all machines, which keeps "
                   "strangers out and what is sent secret");
    app.add_flag("--insecure-network", chosen.insecure_network,
                 "tcp: no secret is needed, since nobody else is on the network");
    app.add_option("--simulated-megabits", chosen.megabits, "Of every rank's line, a second")
        ->check(CLI::Range(0.001, 1e6))
        ->capture_default_str();
    app.add_option("--simulated-slow", chosen.slow, "How much slower the last rank computes")
        ->check(CLI::Range(1.0, 1e6))
        ->capture_default_str();
}

sotto::simulated_options network_of(const transport_options& chosen) {
    sotto::simulated_options options{.seed = chosen.seed};
    options.line =
        sotto::simulated_line::ethernet(1e6 * chosen.megabits, std::chrono::microseconds(50));
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

int run(CLI::App& app, int argc, char** argv, const std::function<int()>& work) {
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
        return app.exit(e) == 0 ? 0 : 2;
    }
    std::setvbuf(stdout, nullptr, _IOLBF, 0);  // in step with the progress bar's stderr
    try {
        return work();
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s: %s\n", app.get_name().c_str(), e.what());
        return 1;
    }
}

}  // namespace examples
