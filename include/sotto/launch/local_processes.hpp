#pragma once

#include <unistd.h>

#include <optional>
#include <string>
#include <vector>

#include "sotto/launch/detail/ending.hpp"
#include "sotto/launch/detail/job_mark.hpp"
#include "sotto/launch/detail/supervision.hpp"

namespace sotto::launch {

/// A job whose ranks are all processes of this machine, of one command.
struct local_processes {
    int size = 1;                        // ranks
    std::vector<std::string> command{};  // the program, as a shell finds it, and its arguments
    detail::launch::patience grace{};    // how long ranks may go on once one failed
    bool keep_going = false;             // when a rank fails the others are left alone
    std::string job{};                   // its name, see run
    int out = STDOUT_FILENO;             // where the ranks' lines go
    int err = STDERR_FILENO;             // and what they complain of
};

}  // namespace sotto::launch

namespace sotto::detail::launch {

inline constexpr const char* job_name_variable = "SOTTO_JOB_NAME";

/// The name that was given, else that of the environment, else one that no other job has.
///   errors  invalid_option: it is too long
std::string name_of_job(const std::string& given, const job_mark& mark);

}  // namespace sotto::detail::launch

namespace sotto::launch {

/// Runs a job to its end; returns the first failure, or nothing where all ranks ended with 0. A
/// rank that ended with exit_code::output_incomplete has done its work: the others go on, and it is
/// returned where no rank failed.
///
/// The job's name is `job`, else SOTTO_JOB_NAME of this process, else a new one. Each rank gets it
/// in SOTTO_JOB_NAME. A rank or a job that is started again under that name is the same job: its
/// folders of checkpoints belong to it.
///
/// Each rank is told its place by the variables that `from_environment` reads: SOTTO_RANK,
/// SOTTO_SIZE, SOTTO_LOCAL_RANK, SOTTO_LOCAL_SIZE, SOTTO_ADDRESS and SOTTO_PORT, a free one. Its
/// input is empty; its lines of output come out whole and unchanged, with "[rank] " before each.
///
/// When a rank fails, the others are left `grace.until_terminate` to notice and to end by
/// themselves, then get SIGTERM, and after `grace.until_kill` SIGKILL. With `keep_going` they are
/// left alone, as ranks need that train on without it, and it is said how to start it again; what
/// is started so is no part of this job. SIGINT, SIGTERM and SIGHUP
/// that this process gets (and does not ignore) go to all ranks, which may then take as long as
/// they like, also when some end by it at once; a second one kills them. SIGTSTP (Ctrl-Z) halts all
/// ranks and this process; SIGCONT lets them go on together.
///
/// Nothing is left when this returns, and when this process is killed all ranks die: that includes
/// what they started. What moved to a process group of its own, as `timeout` does, is found in
/// /proc by the variable SOTTO_JOB; only what was started without the variables it would inherit is
/// not.
///
/// Other threads of this process must block those four signals, and none may wait for children
/// that are not its own. SIGCHLD has its default action meanwhile, and is as before afterwards.
/// Each of stdin, stdout and stderr that is closed becomes /dev/null. It needs Linux.
///   memory  at most 1 MiB of output that cannot be written yet and a line of each rank; ranks that
///           write faster than `out` and `err` are read are held up
///   errors  invalid_option: no rank, no program, or a name of more than 256 bytes; io_failure: it
///           cannot be run, no process reads its output any more, or the system has no process,
///           file or port left. All ranks are then killed. output_incomplete: the job ended well,
///           but a disk was full or failed and part of its output was dropped
std::optional<detail::launch::ending> run(const local_processes& job);

}  // namespace sotto::launch

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/launch/local_processes.ipp"
#endif
