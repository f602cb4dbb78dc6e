#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sotto/core/placement.hpp"

/// Finds the place of a process in a job, and starts and supervises local processes as ranks.
namespace sotto::launch {

/// Returns the value of an environment variable; nothing if it is unset or empty.
using variables = std::function<std::optional<std::string>(const char* name)>;

}  // namespace sotto::launch

namespace sotto::detail::launch {

/// A detected place and the diagnostics about it.
struct detection {
    placement place;                         // rank of this process and address of rank 0
    std::vector<std::string> diagnostics{};  // one sentence each, for people to read
};

inline constexpr std::string_view slurm = "Slurm";

/// The environment variables in which a launcher passes a process its place. Null: the launcher
/// does not set it.
struct launcher {
    const char* name;
    const char* rank;
    std::array<const char*, 3> size;
    const char* local_rank;
    const char* local_size;
};

// The first launcher found is the innermost: Slurm's srun starts torchrun and mpirun, and mpirun
// starts torchrun once on each machine.
inline constexpr launcher launchers[] = {
    {"sotto", "SOTTO_RANK", {"SOTTO_SIZE"}, "SOTTO_LOCAL_RANK", "SOTTO_LOCAL_SIZE"},
    {"torchrun", "RANK", {"WORLD_SIZE"}, "LOCAL_RANK", "LOCAL_WORLD_SIZE"},
    {"Horovod", "HOROVOD_RANK", {"HOROVOD_SIZE"}, "HOROVOD_LOCAL_RANK", "HOROVOD_LOCAL_SIZE"},
    {"Open MPI",
     "OMPI_COMM_WORLD_RANK",
     {"OMPI_COMM_WORLD_SIZE"},
     "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"MVAPICH",
     "MV2_COMM_WORLD_RANK",
     {"MV2_COMM_WORLD_SIZE"},
     "MV2_COMM_WORLD_LOCAL_RANK",
     "MV2_COMM_WORLD_LOCAL_SIZE"},
    {"PMI", "PMI_RANK", {"PMI_SIZE"}, "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
    // PMIx sets no size; the launcher around it may.
    {"PMIx",
     "PMIX_RANK",
     {"OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"},
     "SLURM_LOCALID",
     nullptr},
    // Not SLURM_NTASKS: the shell of sbatch, a single process of rank 0, has it too.
    {"Slurm", "SLURM_PROCID", {"SLURM_STEP_NUM_TASKS"}, "SLURM_LOCALID", nullptr},
};

std::int64_t read_number(const char* name, const std::string& text, std::int64_t lowest,
                         std::int64_t highest);

/// Reads the place from a launcher's variables; nothing if it did not start this process.
std::optional<placement> told_by(const launcher& by, const sotto::launch::variables& get);

/// Throws if a size is set without a rank. A variable was forgotten, and every process would train
/// alone.
void require_no_size(const sotto::launch::variables& get);

/// Reads the place from srun's variables; nothing if srun did not start this process.
std::optional<placement> told_by_slurm(const sotto::launch::variables& get);

/// Replaces a place from PMI or PMIx by that of srun, if srun started the process. srun speaks PMI
/// or PMIx if --mpi requests it, and it knows the nodes. mpiexec sets the number of ranks on this
/// machine; srun does not.
std::optional<placement> srun_instead_of(const placement& told,
                                         const sotto::launch::variables& get);

/// Finds the port that rank 0 listens on.
void find_port(placement& place, const sotto::launch::variables& get);

/// Reads the address of rank 0, and its port if it has one, from a variable. Returns true if the
/// variable is set.
///   errors  invalid_option: it is no host, or `port_name` has another port
bool take_address(placement& place, const sotto::launch::variables& get, const char* name,
                  const char* port_name);

/// Finds the address of rank 0 from the variables. If all ranks are on this machine and
/// SOTTO_ADDRESS is not set, it is loopback or `place.bind`, even if MASTER_ADDR has another one.
void find_address(placement& place, const sotto::launch::variables& get);

}  // namespace sotto::detail::launch

namespace sotto::launch {

/// Returns the rank and the job of this process, read from the variables of its launcher. These are
/// SOTTO_RANK, SOTTO_SIZE, SOTTO_ADDRESS (with an optional port, as in [::1]:29500) and SOTTO_PORT.
/// Also read are those of torchrun, Horovod, Open MPI, MVAPICH, PMI (MPICH, Intel MPI), PMIx and
/// Slurm, including an srun that speaks PMI or PMIx.
///
/// If several launchers are found, the innermost counts, and a diagnostic reports it.
/// SOTTO_INTERFACE (see interfaces.hpp) chooses this rank's address. Without a launcher the process
/// is rank 0 of 1, with a diagnostic.
///   errors  invalid_option: a variable is not a number in its range. SOTTO_SIZE or WORLD_SIZE is
///           set without a rank. The job has several machines and no address of rank 0. Two
///           launchers disagree on the rank in a job of one size, so neither can have started the
///           other
detail::launch::detection detect(const variables& get);

/// As `detect`, for this process. Rank 0 prints the diagnostics to stderr. Before that, each of
/// stdin, stdout and stderr that is closed becomes /dev/null, so no file or socket gets its number.
///   errors  as detect; io_failure: /dev/null cannot be opened
placement from_environment();

}  // namespace sotto::launch

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/launch/environment.ipp"
#endif
