// Kills a run, restarts it from its checkpoint, and compares the result bit for bit with that of an
// undisturbed run.

#include <sotto/models.hpp>
#include <sotto/sotto.hpp>

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <vector>

#include "transport.hpp"

namespace {

struct job {
    sotto::data::labelled_set digits = sotto::data::digits(4'000, sotto::random_stream{1});
    sotto::data::labelled_set unseen = sotto::data::digits(1'000, sotto::random_stream{2});
    std::int64_t steps = 300;
    std::int64_t dies_after = 180;
};

struct outcome {
    std::vector<float> parameters;
    bool went_on = false;  // resumed from a checkpoint
};

// The whole program as a user writes it. After a restart it resumes from its newest checkpoint. If
// `dies` is set, the last rank ends abruptly, as in a power cut.
outcome train(auto& transport, const job& job, const std::filesystem::path& folder,
              bool dies = false) {
    const bool speaks = transport.rank() == 0;
    sotto::models::mlp model{784, 64, 10};
    sotto::trainer trainer{model,
                           sotto::all_reduce{sotto::sgd{.learning_rate = 0.1},
                                             sotto::dgc{.density = 0.01, .momentum = 0.9}},
                           transport};
    const sotto::resume_report before = trainer.try_resume(folder);
    if (before.found && speaks)
        std::printf("goes on after step %lld, from %s\n", static_cast<long long>(before.step),
                    before.file.c_str());

    const auto crash = [&](const sotto::step_report& step) {
        if (dies && step.step == job.dies_after && transport.rank() == transport.size() - 1) {
            std::printf("killed after step %lld\n", static_cast<long long>(step.step));
            std::fflush(stdout);
            std::raise(SIGKILL);
        }
    };
    const auto report = examples::noted(
        trainer.fit(job.digits, sotto::steps{job.steps}, sotto::evaluate_on{job.unseen, 100},
                    sotto::checkpoints{folder, {.every_steps = 50}}, crash));
    if (speaks)
        std::printf("step %lld: accuracy %.2f %%, %lld checkpoints written\n",
                    static_cast<long long>(report.step), 100.0 * report.evaluated->accuracy,
                    static_cast<long long>(report.checkpoints));
    return {{trainer.parameters().begin(), trainer.parameters().end()}, before.found};
}

/// True if a run in a child process fails. If ranks are threads, the kill ends all of them. If
/// ranks are processes, the others detect the failure and end with an error.
bool crashes(const examples::transport_options& chosen, const job& job,
             const std::filesystem::path& folder) {
    std::fflush(stdout);
    const ::pid_t child = ::fork();
    if (child == 0) {
        try {
            examples::with_transport(chosen, [&](auto& transport) {
                if (transport.rank() == 0) std::puts("-- killed in the middle");
                train(transport, job, folder, true);
            });
        } catch (...) {
            ::_exit(sotto::report_exception("resume_after_a_crash"));
        }
        ::_exit(0);
    }
    int ending = 0;
    return child > 0 && ::waitpid(child, &ending, 0) == child && ending != 0;
}

int compare(const examples::transport_options& chosen, const job& job,
            const std::filesystem::path& folder) {
    if (chosen.kind == examples::transport_kind::mpi)
        throw sotto::invalid_option(
            "MPI ends the whole job when a process of it dies, so that none is left to show how it "
            "goes on: --transport in-process or tcp");
    if (!crashes(chosen, job, folder / "crashed")) {
        std::fputs("it was not killed: there is nothing to show\n", stderr);
        return 1;
    }
    bool good = true;
    examples::with_transport(chosen, [&](auto& transport) {
        const bool speaks = transport.rank() == 0;
        if (speaks) std::puts("-- the same program again");
        const outcome resumed = train(transport, job, folder / "crashed");
        if (speaks) std::puts("-- and once without a crash");
        const outcome whole = train(transport, job, folder / "whole");
        if (!speaks) return;
        good = resumed.went_on && !whole.went_on && resumed.parameters == whole.parameters;
        if (!resumed.went_on || whole.went_on)
            std::puts("the second run did not go on from a checkpoint, or the third did");
        else
            std::printf("%zu parameters, %s\n", whole.parameters.size(),
                        good ? "all the same to the last bit" : "NOT the same");
    });
    return good ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    job job;
    examples::transport_options transport;
    bool quick = false;
    CLI::App app{
        "Trains, is killed, is started again, and compares the end with that of an "
        "undisturbed run.",
        "resume_after_a_crash"};
    examples::add_transport(app, transport);
    app.add_flag("--quick", quick, "120 steps in place of 300");
    return examples::run(app, argc, argv, [&] {
        if (quick) job.steps = 120, job.dies_after = 70;
        const std::filesystem::path folder = "resume_after_a_crash_checkpoints";
        std::error_code gone_already;  // another process may have removed it first
        std::filesystem::remove_all(folder, gone_already);
        return compare(transport, job, folder);
    });
}
