#include "sotto/launch/environment.hpp"

#include <doctest/doctest.h>

#include <map>
#include <optional>
#include <string>
#include <utility>

using namespace sotto;
using namespace sotto::launch;

namespace {

using environment = std::map<std::string, std::string>;

sotto::detail::launch::detection detect_in(const environment& all) {
    return detect([&](const char* name) -> std::optional<std::string> {
        const auto found = all.find(name);
        return found == all.end() ? std::nullopt : std::optional(found->second);
    });
}

environment together(environment first, const environment& second) {
    first.insert(second.begin(), second.end());
    return first;
}

const environment torchrun{{"RANK", "5"},
                           {"WORLD_SIZE", "8"},
                           {"LOCAL_RANK", "1"},
                           {"MASTER_PORT", "29400"},
                           {"LOCAL_WORLD_SIZE", "4"},
                           {"MASTER_ADDR", "node0"}};
const environment open_mpi{{"OMPI_COMM_WORLD_RANK", "2"},
                           {"OMPI_COMM_WORLD_SIZE", "4"},
                           {"OMPI_COMM_WORLD_LOCAL_RANK", "2"},
                           {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                           {"PMIX_RANK", "2"}};
const environment slurm{{"SLURM_PROCID", "3"},
                        {"SLURM_NTASKS", "16"},
                        {"SLURM_STEP_NUM_TASKS", "6"},
                        {"SLURM_LOCALID", "1"},
                        {"SLURM_JOB_ID", "20123"},
                        {"SLURM_LAUNCH_NODE_IPADDR", "10.9.9.9"},
                        {"SLURM_JOB_NODELIST", "gnode[10,20-22]"},
                        {"SLURM_STEP_NODELIST", "gnode[20-22]"}};

// What `srun -N 2 -n 4` tells its task 2, within a larger allocation, and on one node of it.
const environment srun_on_two{{"SLURM_JOB_ID", "20123"},
                              {"SLURM_JOB_NODELIST", "gnode[10,20-22]"},
                              {"SLURM_NTASKS", "4"},
                              {"SLURM_PROCID", "2"},
                              {"SLURM_LOCALID", "0"},
                              {"SLURM_NODEID", "1"},
                              {"SLURM_STEP_ID", "0"},
                              {"SLURM_STEP_NODELIST", "gnode[20-21]"},
                              {"SLURM_STEP_NUM_NODES", "2"},
                              {"SLURM_STEP_NUM_TASKS", "4"},
                              {"SLURM_STEP_TASKS_PER_NODE", "2(x2)"},
                              {"SLURM_LAUNCH_NODE_IPADDR", "10.9.9.9"}};

environment on_one_node(environment srun) {
    srun["SLURM_NODEID"] = "0";
    srun["SLURM_LOCALID"] = "2";
    srun["SLURM_STEP_NODELIST"] = "gnode20";
    srun["SLURM_STEP_NUM_NODES"] = "1";
    srun["SLURM_STEP_TASKS_PER_NODE"] = "4";
    return srun;
}

// What --mpi=pmi2 and --mpi=pmix add to it.
const environment speaking_pmi2{
    {"PMI_FD", "13"}, {"PMI_JOBID", "20123.0"}, {"PMI_RANK", "2"}, {"PMI_SIZE", "4"}};
const environment speaking_pmix{{"PMIX_RANK", "2"},
                                {"PMIX_NAMESPACE", "slurm.pmix.20123.0"},
                                {"PMIX_HOSTNAME", "gnode21"},
                                {"SLURM_PMIXP_ABORT_AGENT_PORT", "35123"}};

}  // namespace

TEST_CASE("without a launcher a process is one rank of one") {
    const sotto::detail::launch::detection found = detect_in({});
    const placement& place = found.place;
    REQUIRE(found.diagnostics.size() == 1);
    CHECK(found.diagnostics[0] ==
          "no launcher and no SOTTO_RANK says which rank this is: it trains alone, rank 0 of 1");
    CHECK(place.rank == 0);
    CHECK(place.size == 1);
    CHECK(place.launcher == "nobody");
    CHECK(place.address == "127.0.0.1");
}

TEST_CASE("a size without a rank is refused: else every process would train alone") {
    for (const auto& [size, rank] :
         {std::pair("SOTTO_SIZE", "SOTTO_RANK"), std::pair("WORLD_SIZE", "RANK")}) {
        const std::string expected =
            "launch: " + std::string(size) + " is '4', but " + rank + " is not set";
        CHECK_THROWS_WITH_AS(detect_in({{size, "4"}}), expected.c_str(), invalid_option);
        CHECK(detect_in({{size, "1"}}).place.size == 1);
    }
}

TEST_CASE("where torchrun's agent listens itself, rank 0 takes the next port") {
    CHECK(detect_in(together(torchrun, {{"TORCHELASTIC_USE_AGENT_STORE", "True"}})).place.port ==
          29401);
    CHECK(detect_in(together(torchrun, {{"TORCHELASTIC_USE_AGENT_STORE", "False"}})).place.port ==
          29400);
    CHECK(detect_in(together({{"SOTTO_PORT", "7000"}, {"TORCHELASTIC_USE_AGENT_STORE", "True"}},
                             torchrun))
              .place.port == 7000);
}

TEST_CASE("torchrun says everything") {
    const placement place = detect_in(torchrun).place;
    CHECK(place.launcher == "torchrun");
    CHECK(place.rank == 5);
    CHECK(place.size == 8);
    CHECK(place.local_rank == 1);
    CHECK(place.local_size == 4);
    CHECK(place.address == "node0");
    CHECK(place.port == 29400);
}

TEST_CASE("Open MPI on one machine needs no address, on several it does") {
    const placement place = detect_in(open_mpi).place;
    CHECK(place.launcher == "Open MPI");
    CHECK(place.rank == 2);
    CHECK(place.size == 4);
    CHECK(place.address == "127.0.0.1");
    environment several = open_mpi;
    several["OMPI_COMM_WORLD_LOCAL_SIZE"] = "2";
    CHECK_THROWS_WITH_AS((void)detect_in(several),
                         "launch: Open MPI started 4 processes, 2 of them here, and does not say "
                         "where rank 0 is: set SOTTO_ADDRESS, and SOTTO_PORT if 29500 is taken",
                         const invalid_option&);
    several["SOTTO_ADDRESS"] = "10.0.0.1";
    CHECK(detect_in(several).place.address == "10.0.0.1");
}

TEST_CASE("Slurm's step counts, and its first node is where rank 0 is") {
    const placement place = detect_in(slurm).place;
    CHECK(place.launcher == "Slurm");
    CHECK(place.rank == 3);
    CHECK(place.size == 6);
    CHECK(place.address == "gnode20");
    CHECK(place.port == 20123);
}

TEST_CASE("a shell that Slurm started is one process, however many tasks there may be") {
    environment shell = slurm;
    shell.erase("SLURM_PROCID");
    CHECK(detect_in(shell).place.size == 1);
    // As sbatch's is: a rank, but of no step.
    const environment script{{"SLURM_PROCID", "0"},
                             {"SLURM_LOCALID", "0"},
                             {"SLURM_NTASKS", "4"},
                             {"SLURM_JOB_ID", "20123"},
                             {"SLURM_JOB_NODELIST", "gnode[20-21]"}};
    CHECK(detect_in(script).place.size == 1);
    CHECK(detect_in(script).place.launcher == "nobody");
}

TEST_CASE("srun that speaks PMI2 or PMIx still says where rank 0 is") {
    for (const environment& speaks : {environment{}, speaking_pmi2, speaking_pmix}) {
        const sotto::detail::launch::detection found = detect_in(together(srun_on_two, speaks));
        CHECK(found.diagnostics.empty());
        CHECK(found.place.launcher == "Slurm");
        CHECK(found.place.rank == 2);
        CHECK(found.place.size == 4);
        CHECK(found.place.local_rank == 0);
        CHECK(found.place.address == "gnode20");
        CHECK(found.place.port == 20123);
    }
}

TEST_CASE("srun on one node, however it speaks, needs nothing but loopback") {
    for (const environment& speaks : {environment{}, speaking_pmi2, speaking_pmix}) {
        const placement place = detect_in(together(on_one_node(srun_on_two), speaks)).place;
        CHECK(place.rank == 2);
        CHECK(place.size == 4);
        CHECK(place.local_rank == 2);
        CHECK(place.local_size == 4);
        CHECK(place.address == "127.0.0.1");
    }
}

TEST_CASE("what mpiexec started within a step of Slurm is not srun's, whatever its numbers") {
    // mpiexec starts a process on each node by srun; where each has one rank, both number alike.
    environment hydra = together(srun_on_two, speaking_pmi2);
    hydra["MPI_LOCALRANKID"] = "0";
    hydra["MPI_LOCALNRANKS"] = "1";
    CHECK_THROWS_AS((void)detect_in(hydra), invalid_option);
    hydra["SOTTO_ADDRESS"] = "10.0.0.1";
    CHECK(detect_in(hydra).place.launcher == "PMI");
    // Or it has more ranks than Slurm has tasks.
    environment more = together(srun_on_two, speaking_pmi2);
    more["PMI_SIZE"] = "8";
    more["SOTTO_ADDRESS"] = "10.0.0.1";
    CHECK(detect_in(more).place.launcher == "PMI");
    CHECK(detect_in(more).place.size == 8);
}

TEST_CASE("where all ranks are on this machine they meet on loopback, whatever it is called") {
    environment local = torchrun;
    local["WORLD_SIZE"] = "6";
    local["LOCAL_WORLD_SIZE"] = "6";
    CHECK(detect_in(local).place.address == "127.0.0.1");
    CHECK(detect_in(together({{"SOTTO_ADDRESS", "node0"}}, local)).place.address == "node0");
    // Unless one of its addresses was chosen: there rank 0 listens.
    const placement chosen = detect_in(together({{"SOTTO_INTERFACE", "127.0.0.0/8"}}, local)).place;
    CHECK(chosen.address == chosen.bind);
}

TEST_CASE("detect: SOTTO_ADDRESS with brackets, zone or port -> host and port") {
    const auto place_of = [](const char* address, const environment& more = {}) {
        const placement place =
            detect_in(together({{"SOTTO_ADDRESS", address}}, together(more, torchrun))).place;
        return place.address + " port " + std::to_string(place.port);
    };
    CHECK(place_of("::1") == "::1 port 29400");
    CHECK(place_of("[::1]") == "::1 port 29400");
    CHECK(place_of("[::1]:29500") == "::1 port 29500");
    CHECK(place_of("node7:29500") == "node7 port 29500");
    CHECK(place_of("fe80::1%eth0") == "fe80::1%eth0 port 29400");
    CHECK(place_of("[fe80::1%eth0]:7", {{"SOTTO_PORT", "7"}}) == "fe80::1%eth0 port 7");
    CHECK_THROWS_WITH_AS((void)place_of("[::1]:29500", {{"SOTTO_PORT", "29501"}}),
                         "launch: SOTTO_ADDRESS is '[::1]:29500', but SOTTO_PORT is '29501'; "
                         "expected one port of rank 0",
                         const invalid_option&);
    CHECK_THROWS_WITH_AS((void)place_of("[::1\033"),
                         "launch: SOTTO_ADDRESS is '[::1\\x1b'; expected a name or an address, as "
                         "node0, 10.0.0.1 or ::1, perhaps with a port, as node0:29500 or "
                         "[::1]:29500",
                         const invalid_option&);
}

TEST_CASE("detect: MASTER_ADDR with brackets or port -> as SOTTO_ADDRESS") {
    environment other = torchrun;
    other["MASTER_ADDR"] = "[::1]:29400";
    CHECK(detect_in(other).place.address == "::1");
    CHECK(detect_in(other).place.port == 29400);
    other["TORCHELASTIC_USE_AGENT_STORE"] = "True";  // whose port that is
    CHECK(detect_in(other).place.port == 29401);
    other["SOTTO_PORT"] = "7000";
    CHECK(detect_in(other).place.port == 7000);
    other["MASTER_PORT"] = "29401";
    CHECK_THROWS_AS((void)detect_in(other), invalid_option);
    other.erase("MASTER_PORT");
    CHECK(detect_in(other).place.port == 7000);
    other.erase("SOTTO_PORT");
    CHECK(detect_in(other).place.port == 29400);
}

TEST_CASE("the innermost launcher counts") {
    CHECK(detect_in(together(open_mpi, slurm)).place.launcher == "Open MPI");
    const sotto::detail::launch::detection both = detect_in(together(torchrun, open_mpi));
    CHECK(both.place.launcher == "torchrun");
    REQUIRE(both.diagnostics.size() == 1);
    CHECK(both.diagnostics[0] ==
          "torchrun says rank 5 of 8; Open MPI says rank 2 of 4, which is taken for what started "
          "the other");
}

TEST_CASE("launchers that contradict each other are refused, unless the job says itself") {
    environment other = torchrun;
    other["WORLD_SIZE"] = "4";
    other["RANK"] = "1";
    other["LOCAL_RANK"] = "1";
    CHECK_THROWS_WITH_AS((void)detect_in(together(other, open_mpi)),
                         "launch: torchrun says rank 1 of 4, Open MPI says rank 2 of 4: set "
                         "SOTTO_RANK and SOTTO_SIZE to choose",
                         const invalid_option&);
    other["SOTTO_RANK"] = "3";
    other["SOTTO_SIZE"] = "4";
    CHECK(detect_in(together(other, open_mpi)).place.rank == 3);
}

TEST_CASE("PMIx tells no size: then Slurm's") {
    const environment pmix{
        {"PMIX_RANK", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}, {"MASTER_ADDR", "n1"}};
    const placement place = detect_in(pmix).place;
    CHECK(place.rank == 1);
    CHECK(place.size == 2);
    CHECK_THROWS_WITH_AS((void)detect_in({{"PMIX_RANK", "1"}}),
                         "launch: PMIX_RANK is '1', but OMPI_COMM_WORLD_SIZE or "
                         "SLURM_STEP_NUM_TASKS or SLURM_NTASKS is not set",
                         const invalid_option&);
}

TEST_CASE("a variable that is no number is refused with what it may be") {
    CHECK_THROWS_WITH_AS((void)detect_in({{"RANK", "two"}, {"WORLD_SIZE", "4"}}),
                         "launch: RANK is 'two'; expected a number from 0 to 3",
                         const invalid_option&);
    CHECK_THROWS_AS((void)detect_in({{"RANK", "4"}, {"WORLD_SIZE", "4"}}), invalid_option);
    CHECK_THROWS_AS((void)detect_in({{"RANK", "0"}, {"WORLD_SIZE", "4x"}}), invalid_option);
    CHECK_THROWS_AS((void)detect_in({{"RANK", "0"}, {"WORLD_SIZE", "0"}}), invalid_option);
    environment wrong_port = torchrun;
    wrong_port["MASTER_PORT"] = "70000";
    CHECK_THROWS_AS((void)detect_in(wrong_port), invalid_option);
}
