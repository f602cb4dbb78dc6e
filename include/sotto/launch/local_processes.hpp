#pragma once

#include <unistd.h>

#include <optional>
#include <string>
#include <vector>

#include "sotto/launch/detail/ending.hpp"
#include "sotto/launch/detail/job_mark.hpp"
#include "sotto/launch/detail/supervision.hpp"

namespace sotto::launch {

/// A job whose ranks are processes on this machine, all of one command.
struct local_processes {
    int size = 1;                        // number of ranks
    std::vector<std::string> command{};  // program, found as a shell finds it, and its arguments
    detail::launch::patience grace{};    // how long the other ranks may run after one failed
    bool keep_going = false;             // true: the other ranks keep running when a rank fails
    std::string job{};                   // name of the job, see run
    int out = STDOUT_FILENO;             // descriptor for the ranks' stdout lines
    int err = STDERR_FILENO;             // descriptor for the ranks' stderr lines
};

}  // namespace sotto::launch

namespace sotto::detail::launch {

inline constexpr const char* job_name_variable = "SOTTO_JOB_NAME";

/// Returns the given name, else the one in the environment, else a unique name.
///   errors  invalid_option: it is too long
std::string name_of_job(const std::string& given, const job_mark& mark);

}  // namespace sotto::detail::launch

namespace sotto::launch {

/// Runs a job to its end. Returns the first failure, or nothing if all ranks ended with 0. A rank
/// that ended with exit_code::output_incomplete has done its work: the other ranks keep running,
/// and its ending is returned if no rank failed.
///
/// The job's name is `job`, else SOTTO_JOB_NAME of this process, else a new name. Each rank gets it
/// in SOTTO_JOB_NAME. A rank or a job that is restarted under that name belongs to the same job and
/// owns its checkpoint folders.
///
/// Each rank gets the variables that `from_environment` reads: SOTTO_RANK, SOTTO_SIZE,
/// SOTTO_LOCAL_RANK, SOTTO_LOCAL_SIZE, SOTTO_ADDRESS and SOTTO_PORT, a free port. Its input is
/// empty. Its output lines are written whole and unchanged, with "[rank] " before each.
///
/// When a rank fails, the others have `grace.until_terminate` to notice and end by themselves. Then
/// they get SIGTERM, and after `grace.until_kill` SIGKILL. With `keep_going` they keep running, as
/// needed by ranks that train on without the failed one. A message shows how to restart the failed
/// rank. A rank that is restarted this way is not part of this job.
///
/// SIGINT, SIGTERM and SIGHUP that this process gets (and does not ignore) are forwarded to all
/// ranks. The ranks may then take any time to end, even if some end immediately. A second signal
/// kills them. SIGTSTP (Ctrl-Z) halts all ranks and this process; SIGCONT continues them together.
///
/// No process of the job is left when this function returns, and all ranks die if this process is
/// killed. Both include the processes that ranks started. A process that moved to its own process
/// group, as `timeout` does, is found in /proc by the variable SOTTO_JOB. Only a process that was
/// started without the inherited variables is not found.
///
/// Other threads of this process must block those four signals. No thread may wait for children
/// that are not its own. SIGCHLD has its default action while this function runs, and its previous
/// one afterwards. Each of stdin, stdout and stderr that is closed becomes /dev/null. Requires
/// Linux.
///   memory  at most 1 MiB of output that cannot be written yet and one line of each rank. Ranks
///           that write faster than `out` and `err` are read are slowed down
///   errors  invalid_option: no rank, no program, or a name of more than 256 bytes. io_failure: the
///           program cannot be run, no process reads its output any more, or the system has no
///           process, file or port left. All ranks are then killed. output_incomplete: the job
///           ended well, but a disk was full or failed and part of its output was dropped
std::optional<detail::launch::ending> run(const local_processes& job);

}  // namespace sotto::launch

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/launch/local_processes.ipp"
#endif
