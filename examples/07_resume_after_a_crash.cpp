// A run is killed in the middle and started again: it ends with the very bits of one that was not.

#include <sotto/sotto.hpp>

#include <CLI/CLI.hpp>

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <vector>

namespace {

struct job {
    sotto::data::labelled_set digits = sotto::data::digits(4'000, sotto::random_stream{1});
    sotto::data::labelled_set unseen = sotto::data::digits(1'000, sotto::random_stream{2});
    std::int64_t steps = 300;
    std::int64_t dies_after = 180;
};

struct outcome {
    std::vector<float> parameters;
    bool went_on = false;  // from a checkpoint
};

// The whole program, as its user would write it: started again, it goes on where its newest
// checkpoint was. `dies` makes it end as a power cut would.
outcome train(const job& job, const std::filesystem::path& folder, bool dies = false) {
    outcome seen;
    sotto::run_in_process(4, [&](auto& transport) {
        sotto::models::mlp model{784, 64, 10};
        sotto::trainer trainer{model,
                               sotto::all_reduce{sotto::sgd{.learning_rate = 0.1},
                                                 sotto::dgc{.density = 0.01, .momentum = 0.9}},
                               transport};
        const sotto::resume_report before = trainer.resume_if_there(folder);
        if (before.found && transport.rank() == 0)
            std::printf("goes on after step %lld, from %s\n", static_cast<long long>(before.step),
                        before.file.c_str());

        const auto crash = [&](const sotto::step_report& step) {
            if (dies && step.step == job.dies_after && transport.rank() == 3) {
                std::printf("killed after step %lld\n", static_cast<long long>(step.step));
                std::fflush(stdout);
                std::raise(SIGKILL);
            }
        };
        const auto report =
            trainer.fit(job.digits, sotto::steps{job.steps}, sotto::evaluate_on{job.unseen, 100},
                        sotto::checkpoints{folder, {.every_steps = 50}}, crash);

        if (transport.rank() != 0) return;
        std::printf("step %lld: accuracy %.2f %%, %lld checkpoints written\n",
                    static_cast<long long>(report.step), 100.0 * report.evaluated->accuracy,
                    static_cast<long long>(report.checkpoints));
        seen.parameters.assign(trainer.parameters().begin(), trainer.parameters().end());
        seen.went_on = before.found;
    });
    return seen;
}

}  // namespace

int main(int argc, char** argv) {
    job job;
    bool quick = false;
    CLI::App app{"Trains, is killed, is started again, and compares the end with that of an "
                 "undisturbed run."};
    app.add_flag("--quick", quick, "120 steps in place of 300");
    CLI11_PARSE(app, argc, argv);
    if (quick) job.steps = 120, job.dies_after = 70;
    const std::filesystem::path folder = "resume_after_a_crash_checkpoints";
    std::filesystem::remove_all(folder);

    std::puts("-- a process of its own, killed in the middle");
    std::fflush(stdout);
    const ::pid_t child = ::fork();
    if (child == 0) {
        train(job, folder / "crashed", true);
        ::_exit(0);
    }
    int ending = 0;
    if (child < 0 || ::waitpid(child, &ending, 0) != child || !WIFSIGNALED(ending) ||
        WTERMSIG(ending) != SIGKILL) {
        std::fputs("it was not killed: there is nothing to show\n", stderr);
        return 1;
    }
    std::puts("-- the same program again");
    const outcome resumed = train(job, folder / "crashed");
    std::puts("-- and once without a crash");
    const outcome whole = train(job, folder / "whole");
    if (!resumed.went_on || whole.went_on) {
        std::fputs("the second run did not go on from a checkpoint, or the third did\n", stderr);
        return 1;
    }

    const bool same = resumed.parameters == whole.parameters;
    std::printf("%zu parameters, %s\n", whole.parameters.size(),
                same ? "all the same to the last bit" : "NOT the same");
    return same ? 0 : 1;
}
