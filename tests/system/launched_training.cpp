// Training by processes that a launcher started. Each rank is this very program, which runs the
// one case that is skipped otherwise.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sotto/checkpoint/detail/digest.hpp"
#include "sotto/launch/environment.hpp"
#include "sotto/launch/local_processes.hpp"
#include "sotto/models.hpp"
#include "sotto/sotto.hpp"
#include "sotto/transports/tcp.hpp"

using namespace sotto;

namespace {

constexpr int ranks = 4;

/// Trains for a few steps; the digest of the parameters. Before one of its steps rank `victim`
/// kills itself.
std::string train(auto& transport, int victim = -1) {
    const auto digits = data::digits(400, random_stream{1});
    models::mlp model{784, 32, 10};
    trainer learner{model,
                    all_reduce{sgd{.learning_rate = 0.1},
                               dgc{.density = 0.01, .momentum = 0.9, .warm_up_epochs = 1}},
                    transport};
    learner.fit(digits, epochs{3}, [&](const step_report& step) {
        if (step.step == 4 && transport.rank() == victim) std::raise(SIGKILL);
    });
    return detail::checkpoint::hex(
        detail::checkpoint::digest_of(std::as_bytes(std::span(learner.parameters()))));
}

/// A job of this program's case for ranks, and what it printed to both.
struct launched {
    std::optional<sotto::detail::launch::ending> failure;
    std::vector<std::string> lines;

    explicit launched(const char* victim) {
        struct closer {
            void operator()(std::FILE* file) const { std::fclose(file); }
        };
        const std::unique_ptr<std::FILE, closer> said(std::tmpfile());
        REQUIRE(said);
        ::setenv("SOTTO_TEST_VICTIM", victim, 1);
        failure = launch::run({.size = ranks,
                               .command = {std::filesystem::read_symlink("/proc/self/exe"),
                                           "--test-case=what a rank does", "--no-skip"},
                               .out = ::fileno(said.get()),
                               .err = ::fileno(said.get())});
        ::unsetenv("SOTTO_TEST_VICTIM");
        std::rewind(said.get());
        std::array<char, 4096> line{};
        while (std::fgets(line.data(), static_cast<int>(line.size()), said.get()))
            lines.emplace_back(line.data());
    }

    /// The lines of one rank, or of all, that have this in them.
    std::ptrdiff_t count(std::string_view text, int rank = any_rank) const {
        const std::string prefix = rank == any_rank ? "[" : "[" + std::to_string(rank) + "] ";
        return std::count_if(lines.begin(), lines.end(), [&](const std::string& line) {
            return line.starts_with(prefix) && line.find(text) != line.npos;
        });
    }
};

}  // namespace

TEST_CASE("what a rank does" * doctest::skip()) {
    const char* const victim = std::getenv("SOTTO_TEST_VICTIM");
    REQUIRE(victim != nullptr);
    try {
        tcp transport = tcp::join(launch::from_environment());
        std::printf("digest %s\n", train(transport, std::atoi(victim)).c_str());
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s\n", e.what());
        std::exit(1);
    }
}

TEST_CASE("processes learn what threads learn, to the last bit") {
    std::string in_process;
    run_in_process(ranks, [&](auto& transport) {
        const std::string digest = train(transport);
        if (transport.rank() == 0) in_process = digest;
    });
    const launched job("-1");
    CHECK_FALSE(job.failure);
    for (int rank = 0; rank < ranks; ++rank) CHECK(job.count("digest " + in_process, rank) == 1);
}

TEST_CASE("a process that is killed ends the job: launcher and ranks name it") {
    for (const int victim : {0, 2}) {
        CAPTURE(victim);
        const launched job(std::to_string(victim).c_str());
        REQUIRE(job.failure);
        CHECK(job.failure->rank == victim);
        CHECK(job.failure->by_signal());
        CHECK(job.failure->exit_status() == 128 + SIGKILL);
        CHECK(job.count("digest ") == 0);
        for (int rank = 0; rank < ranks; ++rank)
            CHECK(job.count("rank " + std::to_string(victim) + " failed: ", rank) ==
                  (rank == victim ? 0 : 1));
    }
}
