#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sotto/core/placement.hpp"

/// Where a process stands in a job, and processes that are started and watched as its ranks.
namespace sotto::launch {

/// What an environment variable holds; nothing if it is not set, or empty.
using variables = std::function<std::optional<std::string>(const char* name)>;

}  // namespace sotto::launch

namespace sotto::detail::launch {

/// What was found, and what a person should know about it.
struct detection {
    placement place;                         // which rank this is, and where the job meets
    std::vector<std::string> diagnostics{};  // for a person to read, a sentence each
};

inline constexpr std::string_view slurm = "Slurm";

/// The variables in which a launcher tells a process its place. Null: it does not tell.
struct launcher {
    const char* name;
    const char* rank;
    std::array<const char*, 3> size;
    const char* local_rank;
    const char* local_size;
};

// The first one that is there is the innermost: torchrun and mpirun are started by Slurm's srun,
// and torchrun, once on each machine, by mpirun.
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
    // PMIx tells no size; whoever started it may.
    {"PMIx",
     "PMIX_RANK",
     {"OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"},
     "SLURM_LOCALID",
     nullptr},
    // Not SLURM_NTASKS: the shell of sbatch has it too, as rank 0, and there is one process.
    {"Slurm", "SLURM_PROCID", {"SLURM_STEP_NUM_TASKS"}, "SLURM_LOCALID", nullptr},
};

std::int64_t read_number(const char* name, const std::string& text, std::int64_t lowest,
                         std::int64_t highest);

/// Reads what a launcher tells; nothing if it did not start this process.
std::optional<placement> told_by(const launcher& by, const sotto::launch::variables& get);

/// A size without a rank: a variable was forgotten, and every process would train alone.
void require_no_size(const sotto::launch::variables& get);

/// What srun tells, where it started this process.
std::optional<placement> told_by_slurm(const sotto::launch::variables& get);

/// Of PMI or PMIx, which srun speaks where --mpi asks for it, as mpiexec does: what srun tells,
/// which knows the nodes. mpiexec says how many ranks are here; srun does not.
std::optional<placement> srun_instead_of(const placement& told,
                                         const sotto::launch::variables& get);

/// The port that rank 0 listens on.
void find_port(placement& place, const sotto::launch::variables& get);

/// Takes the address of rank 0 from a variable, and its port where one stands behind it. Whether
/// the variable is set.
///   errors  invalid_option: it is no host, or `port_name` has another port
bool take_address(placement& place, const sotto::launch::variables& get, const char* name,
                  const char* port_name);

/// Where rank 0 is, for those whose launcher says so. Where all are on this machine that is
/// loopback, whatever else it is called, or the address that was chosen for it.
void find_address(placement& place, const sotto::launch::variables& get);

}  // namespace sotto::detail::launch

namespace sotto::launch {

/// The rank and the job of this process, from the variables of its launcher: SOTTO_RANK,
/// SOTTO_SIZE, SOTTO_ADDRESS (perhaps with a port, as [::1]:29500), SOTTO_PORT; torchrun, Horovod,
/// Open MPI, MVAPICH, PMI (MPICH, Intel MPI), PMIx, Slurm, also where its srun speaks PMI or PMIx.
/// Of several the innermost counts, and a diagnostic says so. SOTTO_INTERFACE (see interfaces.hpp)
/// chooses the own address. Without a launcher: one rank of one, with a diagnostic.
///   errors  invalid_option: a variable that is no such number; nobody's, and yet SOTTO_SIZE or
///           WORLD_SIZE; several machines and nobody says where rank 0 is; two launchers that
///           disagree on the rank in a job of one size, so that neither can be the other's
detail::launch::detection detect(const variables& get);

/// The same for this process. Remarks go to stderr, on rank 0 alone. Each of stdin, stdout and
/// stderr that is closed becomes /dev/null first, so that no file or socket gets its number.
///   errors  as detect; io_failure: /dev/null cannot be opened
placement from_environment();

}  // namespace sotto::launch

#ifndef SOTTO_SEPARATE_COMPILATION
#include "sotto/launch/environment.ipp"
#endif
